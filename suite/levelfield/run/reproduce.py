"""From a stranger's record to what would be run here: names are looked up, hashes compared, nothing is believed.

A record can name models, backends and versions; it cannot bring any. What it names is looked for in this checkout, and
what this checkout would build in its place is shown beside the hash that the record tells. Where workers run is never
taken from a record: it says how well they are isolated from this machine. All settings that decide what this machine
does are announced before any of it is run.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from rich.console import RenderableType

from levelfield.analysis import environment
from levelfield.compare import phrases
from levelfield.compare.changes import hardware_differences
from levelfield.compare.reproduce import FEWEST
from levelfield.errors import LevelfieldError
from levelfield.images import base, catalogue, worker_code
from levelfield.machine.fingerprint import fingerprint
from levelfield.names import made_of
from levelfield.plan import Plan, Selection
from levelfield.plan import arms as arm_names
from levelfield.prepare.own_model import store
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record import references
from levelfield.record.bases import BaseLock
from levelfield.record.bounds import LONGEST_S
from levelfield.record.files import DAMAGED
from levelfield.record.schema import Arm, Block, Case, Image, Run, Settings
from levelfield.report import units
from levelfield.report.tables import Column, make, rendered
from levelfield.run.options import Options
from levelfield.statistics.stopping import DEFAULT_TARGET
from levelfield.statistics.verdicts import DEFAULT_MARGIN

_SHOWN = 6


class Foreign(msgspec.Struct, frozen=True):
    """An image that is not, or cannot be shown to be, the same here as in the record."""

    image: str
    theirs: str
    """Digest of its lock, shortened; empty: it was made from no lock."""
    ours: str
    """The same of the lock that would be taken in its place; empty: there is none."""
    differences: tuple[str, ...]
    """Distributions that would differ, some of them; or why there is nothing to compare."""


def intent(run: Run, *, locked: bool = True, budget_seconds: float | None = None) -> Options:
    """Work out what would be run.

    `budget_seconds`: the user's own; None: the record's. Raises LevelfieldError: the record names what this checkout
    does not know, or a user's own file that is not here, or asks for what no option of `bench` takes, or it is of a
    kind that `bench` did not measure.
    """
    if run.imported is not None:
        raise LevelfieldError(
            f"This run was imported from a file of {run.imported.tool[:80]}: Levelfield did not measure it.",
            fix="Measure again with that tool, and import the new file.",
        )
    if "ab" in run.labels:
        raise LevelfieldError(
            "This is the report of an `ab`, which holds arms against each other.",
            fix="Measure it again with the command in its last section, and read the two side by side.",
        )
    arms = {arm.id: arm for block in run.blocks for arm in block.arms}
    for name in arms:
        arm_names.parse(name)
    settings = run.settings
    _check_options(settings)
    own = store.find_recorded(settings.own) if settings.own is not None else None
    given = tuple(map(own_weights.find_recorded, settings.own_weights))
    return Options(
        selection=made_of(
            Selection,
            settings,
            models=settings.models if own is None else (),
            batches=(),
            batches_of=settings.batches,
            training_batches_of=settings.training_batches,
            decoding_batches_of=settings.decoding_batches,
            threads=settings.thread_counts or (settings.threads,),
            # The numbers of another machine's CPUs mean nothing here, and earlier versions chose from all.
            cpus=() if settings.cpus_requested == () else "all",
            processes=settings.process_counts,
            control=next((arm.backend for arm in arms.values() if arm.ordinal > 1), "none"),
            inject=_injected(arm for block in run.blocks for arm in block.arms),
            variant="cpu" if settings.gpu is None else "auto",
            gpu=None if settings.gpu is None else str(settings.gpu),
            own=own,
            own_weights=given,
            locked=locked,
        ),
        budget_seconds=settings.budget_seconds if budget_seconds is None else budget_seconds,
        precision_target=_target(settings),
        by_clock=settings.clock_seconds is not None or settings.races,
        margin=settings.margin,
        target=settings.target,
        loadgen_test_s=settings.loadgen_test_s,
        latency_target_ms=settings.latency_target_ms,
        price=settings.price,
        command=("levelfield", "reproduce", run.id),
        go_on="levelfield bench --resume {run}, then levelfield compare, which takes the report and that run",
    )


def recorded_cases(chosen: Plan, run: Run) -> Plan:
    """Return a plan without the cases that the record has none of: its profile may measure others today.

    Threads and device are those of this machine. Peak memory has an interval only from several launches, which are
    made anyway.
    """
    fewest = FEWEST if chosen.profile.generations >= FEWEST else 1

    def planned(block: Block) -> Block:
        least = fewest if block.case.definition.sample == "peak memory" else 1
        return msgspec.structs.replace(block, planned_generations=max(least, block.planned_generations))

    def asked(block: Block) -> Case:
        return msgspec.structs.replace(block.case, threads=1, device="cpu")

    there = set(map(asked, run.blocks))
    return msgspec.structs.replace(
        chosen, blocks=tuple(planned(block) for block in chosen.blocks if asked(block) in there)
    )


def _target(settings: Settings) -> float | None:
    """Return how precise ratios should be: where verdicts ended the run, enough to show that equal arms are equal."""
    if settings.ends_on_verdict:
        return DEFAULT_TARGET * settings.margin / DEFAULT_MARGIN
    return settings.precision_target


def _check_options(settings: Settings) -> None:
    """Refuse what `bench` would refuse of a user."""
    budget_s = settings.budget_seconds
    if budget_s is not None and not 0 < budget_s <= LONGEST_S:
        raise LevelfieldError(f"The report asks for a budget of {budget_s:g} s, which no run has.", fix=DAMAGED)
    test_s = settings.loadgen_test_s
    if test_s is not None and not 0 < test_s <= LONGEST_S:
        raise LevelfieldError(f"The report asks for LoadGen tests of {test_s:g} s, which no run has.", fix=DAMAGED)
    for name, share in (("precision", settings.precision_target), ("accuracy", settings.target)):
        if share is not None and not 0 < share < 1:
            raise LevelfieldError(f"The report asks for a target of {share:g} in {name}, no share.", fix=DAMAGED)


def foreign(run: Run, plan: Plan) -> tuple[Foreign, ...]:
    """Return the images that are not the record's: those that it names, and those that would run and it names not."""
    named = {(image.name, image.variant) for image in run.images}
    missing = (each for each in map(references.parse, plan.images) if (each.name, _stem(each)) not in named)
    bases = itertools.starmap(_foreign_base, sorted(run.bases.items()))
    return (*filter(None, map(_foreign, run.images)), *_unnamed(missing), *filter(None, bases))


def bases(run: Run) -> base.Source:
    """Return the source of bases that makes those of the record, packages and all."""
    own = all(label == base.describe(label.split()[1]).label for label in run.bases if label.split()[1:])
    return "debian" if own else base.keep(run.bases)


def _foreign_base(label: str, lock: BaseLock) -> Foreign | None:
    """Compare the packages of a record's base with those that this checkout locks; None: they are the same."""
    _, name, identity = (*label.split(), "", "", "")[:3]
    try:
        ours = base.describe(name)
    except LevelfieldError as error:
        return Foreign(f"base {name}", identity[:12], "", (error.message.rstrip("."),))
    if ours.label == label or ours.lock is None:
        return None
    theirs = {package.name: package.version for package in lock.packages}
    here = {package.name: package.version for package in ours.lock.packages_of(name)}
    return Foreign(f"base {name}", identity[:12], ours.identity[:12], _differing(theirs, here))


def _stem(image: references.Reference) -> str:
    return catalogue.stem(image.variant, image.version)


def _unnamed(images: Iterable[references.Reference]) -> Iterable[Foreign]:
    for image in images:
        ours = catalogue.lock(image.name, image.variant, image.version).sha256
        yield Foreign(f"{image.name} {_stem(image)}", "", ours[:12], ("the report does not say what it was",))


def _injected(arms: Iterable[Arm]) -> tuple[str, str] | None:
    slowed = list(dict.fromkeys((arm.inject, arm.id) for arm in arms if arm.inject))
    if len(slowed) > 1:
        raise LevelfieldError(
            f"{len(slowed)} arms of this run were slowed down on purpose, and `bench` slows down one.",
            fix="It is no run that can be measured again.",
        )
    return slowed[0] if slowed else None


def _foreign(image: Image) -> Foreign | None:
    """Compare an image with this checkout's lock of the same name; None where they are the same."""
    label = f"{image.name} {image.variant}"
    if not image.lock_sha256:
        return Foreign(label, "", "", (image.unlocked or "it was made from no lock",))
    variant, version = catalogue.split_stem(image.variant)
    try:
        # What stands behind the @ becomes part of a file's name: it is read as what people type is.
        reference = references.parse(image.name + references.suffix(variant, version))
        lock = catalogue.lock(reference.name, reference.variant, reference.version)
    except LevelfieldError as error:
        return Foreign(label, image.lock_sha256[:12], "", (error.message.rstrip("."),))
    plugins = _plugins(image)
    if lock.sha256 == image.lock_sha256 and not plugins:
        return None
    same = lock.sha256 == image.lock_sha256
    if image.architecture != lock.architecture.name:
        plugins = (f"it is for {image.architecture}, and images here are for {lock.architecture.name}", *plugins)
    return Foreign(
        label,
        image.lock_sha256[:12],
        lock.sha256[:12],
        (*plugins, *(() if same else _differences(image, lock.versions))),
    )


def _plugins(image: Image) -> tuple[str, ...]:
    """Return how the plug-ins of a record's image differ from what is installed here."""
    here = worker_code.distributions(image.name)
    return tuple(
        f"plug-in {name} {version} → {here.get(name, 'not there')}"
        for name, version in image.plugins.items()
        if here.get(name) != version
    )


def _differences(image: Image, ours: dict[str, str]) -> tuple[str, ...]:
    theirs = {_normal(name): version for name, version in image.distributions.items()}
    here = {_normal(name): version for name, version in ours.items()}
    return _differing(theirs, here)


def _differing(theirs: Mapping[str, str], here: Mapping[str, str]) -> tuple[str, ...]:
    found = [
        f"{key} {theirs.get(key, 'not there')} → {here[key]}" for key in sorted(here) if theirs.get(key) != here[key]
    ]
    shown = list(itertools.islice(found, _SHOWN))
    if len(found) > _SHOWN:
        shown.append(f"and {len(found) - _SHOWN} more")
    return tuple(shown) or ("the same versions, from other files",)


def _normal(name: str) -> str:
    """Spell a distribution as package indexes do (PEP 503)."""
    return name.lower().replace("_", "-").replace(".", "-")


_PLACES = {
    "docker": "containers",
    "venv": "virtual environments, with this machine's network and without a limit of memory",
    "host": "processes of this Python, with this machine's network and without a limit of memory",
}


def announced(run: Run, plan: Plan, options: Options, launcher: str) -> Iterator[str]:
    """Yield one line a setting. Texts are the record's own: a terminal must show them as they are."""
    yield f"Run {run.id}, started {run.started}, measured by Levelfield {run.tool_version}."
    yield (
        f"It will be run again: {', '.join(plan.backends)} on {', '.join(plan.models)}, "
        f"{', '.join(plan.scenarios)}, profile {plan.profile.name}, {_numbers(plan.threads)} threads."
    )
    for name, value in _settings(run, plan, options, launcher):
        yield f"  {name}: {value}"
    if others := hardware_differences(environment.hardware(run.machine), environment.hardware(fingerprint())):
        yield f"This is other hardware ({', '.join(others[:2])}): speeds are shown and not judged."


def _settings(run: Run, plan: Plan, options: Options, launcher: str) -> Iterator[tuple[str, str]]:
    settings, selection = run.settings, options.selection
    where = _PLACES[launcher]
    yield "workers run in", where if settings.launcher == launcher else f"{where} (the report's: {settings.launcher})"
    yield "precisions", ", ".join(plan.precisions)
    for name, batches in (
        ("batches", plan.batches),
        ("training batches", plan.training_batches),
        ("batches of tokens one by one", plan.decoding_batches),
    ):
        if batches:
            yield name, "; ".join(f"{model} {_numbers(sizes)}" for model, sizes in batches.items())
    budget_s, precision = options.budget_seconds, options.precision_target
    target, latency_ms, test_s = settings.target, settings.latency_target_ms, settings.loadgen_test_s
    asked = {
        "processes that train together": _numbers(plan.processes) if plan.processes != (1,) else "",
        "depths": _numbers(selection.depths),
        "caches of keys and values": ", ".join(selection.kv_caches),
        "twice, as a control": selection.control if selection.control != "none" else "",
        "slowed down on purpose": f"{selection.inject[1]} by {selection.inject[0]}" if selection.inject else "",
        "launches of each arm": _launches(plan, budget_s, settings.clock_seconds),
        "time budget": "none" if budget_s is None else units.duration(budget_s),
        "goes on until every ratio is known to": "" if precision is None else f"±{100 * precision:g} %",
        "differences that count as none": f"{100 * options.margin:g} %",
        "accuracy to train to": "" if target is None else f"{100 * target:g} %",
        "latency target of LoadGen's Server": "" if latency_ms is None else f"{latency_ms:g} ms",
        "shortest test of LoadGen": "" if test_s is None else units.duration(test_s),
        "GPU": "" if plan.gpu is None else str(plan.gpu),
    }
    yield from ((name, value) for name, value in asked.items() if value)
    for each in plan.own_weights:
        yield "weights of its author's own", f"{each.model} (SHA-256 {each.sha256[:12]}…)"
    if plan.own is not None:
        yield "file of its author's own", f"{plan.own.file} (SHA-256 {plan.own.sha256[:12]}…)"


def _launches(plan: Plan, budget_s: float | None, clock_s: float | None) -> str:
    """Return how many launches each scenario has: `3 of memory, 5 or more of latency, in about 5 min 30 s`."""
    planned = {block.case.scenario: block for block in plan.blocks}
    parts = [
        f"{block.planned_generations}{' or more' if clock_s is not None and block.case.timed else ''} of {scenario}"
        for scenario, block in planned.items()
    ]
    if clock_s is not None and budget_s is None:
        parts.append(f"in about {units.duration(clock_s)}")
    return ", ".join(parts)


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


FOREIGN: tuple[Column[Foreign], ...] = (
    Column("image", lambda it: phrases.clean(it.image), numeric=False),
    Column("its lock", lambda it: phrases.clean(it.theirs) or "none", numeric=False),
    Column("lock here", lambda it: it.ours or "none", numeric=False),
    Column("what would differ", lambda it: phrases.clean(", ".join(it.differences), 600), numeric=False),
)


def foreign_table(images: Sequence[Foreign]) -> RenderableType:
    """Show which images this checkout would build instead of the report's."""
    return rendered(make("Not the report's images", FOREIGN, images))
