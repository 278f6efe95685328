"""What a run was measured with: settings, environment and libraries of each arm, images, files, and the machine."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

import msgspec

from levelfield.analysis import collect, processor
from levelfield.record.cpu_lists import as_text
from levelfield.record.schema import Absent, Artifact, Fact, Fingerprint, Image, Launch, Library, OwnFile, OwnInput, Run
from levelfield.report import names, sentences, tables, units
from levelfield.report.tables import Cell, Column, Table


class Line(msgspec.Struct, frozen=True):
    """One setting: each value in use, with the arms that use it."""

    name: str
    values: tuple[tuple[str, tuple[str, ...]], ...]


class Ledger(msgspec.Struct, frozen=True):
    shared: tuple[tuple[str, str], ...]
    """Name and value that every arm reports alike."""
    different: tuple[Line, ...]
    """What arms report differently."""
    partial: tuple[Line, ...]
    """What only some arms report, all of them alike."""


def settings(run: Run) -> Ledger:
    """Return a table of the settings that each framework reports."""
    return _ledger((arm, model, launch.settings) for arm, model, launch in launches(run))


def environment(run: Run) -> Ledger:
    """Return a table of the environment variables that were set for the workers."""
    return _ledger((arm, model, launch.environment) for arm, model, launch in launches(run))


def libraries(run: Run) -> Ledger:
    """Return a table of the numerical libraries in each worker's memory map, by kind, and which of them multiply."""
    return _ledger((arm, model, _libraries(launch)) for arm, model, launch in launches(run))


def launches(run: Run) -> Iterator[tuple[str, str, Launch]]:
    """Walk over all launches that came up, with arm and what it ran; the canary's are not among them."""
    for block in run.blocks:
        planned = {arm.id for arm in block.arms}
        for _, launch in collect.launches(block):
            if launch.arm in planned and launch.arm != block.canary and launch.failure is None:
                yield launch.arm, names.network(block.case), launch


def _libraries(launch: Launch) -> dict[str, str]:
    kinds: dict[str, list[str]] = {}
    for library in launch.libraries:
        kinds.setdefault(library.kind, []).append(_located(library))
    by_kind = {kind: ", ".join(sorted(set(found))) for kind, found in kinds.items()}
    said = processor.kernels_in_words(launch)
    return by_kind | ({processor.PRODUCTS: said} if said else {})


def _located(library: Library) -> str:
    """`numpy.libs/libopenblas.so (OpenBLAS 0.3.31)`: a file by its path; what lies inside another file by its name."""
    file, *rest = library.name.split(" ", 1)
    return " ".join((library.path, *rest)) if PurePosixPath(library.path).name.startswith(file) else library.name


def _ledger(facts: Iterable[tuple[str, str, dict[str, str]]]) -> Ledger:
    """Fold facts by name and value; a value that depends on the model is listed with its models."""
    arms: dict[str, None] = {}
    found: dict[str, dict[str, dict[str, dict[str, None]]]] = {}  # name → arm → value → models
    for arm, model, values in facts:
        arms.setdefault(arm)
        for name, value in values.items():
            found.setdefault(name, {}).setdefault(arm, {}).setdefault(value, {})[model] = None
    lines = [_line(name, by_arm) for name, by_arm in sorted(found.items())]
    shared = [line for line in lines if len(line.values) == 1 and len(line.values[0][1]) == len(arms)]
    return Ledger(
        shared=tuple((line.name, line.values[0][0]) for line in shared),
        different=tuple(line for line in lines if len(line.values) > 1),
        partial=tuple(line for line in lines if len(line.values) == 1 and line not in shared),
    )


def _line(name: str, by_arm: dict[str, dict[str, dict[str, None]]]) -> Line:
    by_value: dict[str, list[str]] = {}
    for arm, values in by_arm.items():
        by_value.setdefault(_written(values), []).append(arm)
    return Line(name=name, values=tuple((value, tuple(arms)) for value, arms in by_value.items()))


def _written(values: dict[str, dict[str, None]]) -> str:
    if len(values) == 1:
        return next(iter(values)) or "(empty)"
    return "; ".join(f"{value or '(empty)'} ({', '.join(models)})" for value, models in values.items())


_FACTS = (("base", "base"), ("recipe SHA-256", "recipe_sha256"), ("worker SHA-256", "worker_sha256"))
FROM_SHARED = 2
"""Images from which on there is something to share."""


class Shared(msgspec.Struct, frozen=True):
    """Facts and distributions that every image has alike."""

    facts: tuple[tuple[str, str], ...] = ()
    distributions: tuple[tuple[str, str], ...] = ()


def shared(images: Sequence[Image]) -> Shared:
    """Return what all images have alike; nothing where there is only one."""
    if len(images) < FROM_SHARED:
        return Shared()
    facts = tuple(
        (title, value)
        for title, name in _FACTS
        if (value := getattr(images[0], name)) and all(getattr(image, name) == value for image in images)
    )
    first = images[0].distributions.items()
    alike = tuple(each for each in first if all(image.distributions.get(each[0]) == each[1] for image in images))
    return Shared(facts, alike)


def own_facts(image: Image, common: Shared) -> tuple[tuple[str, str], ...]:
    """Return the digests of an image that are not those of all."""
    said = {title for title, _ in common.facts}
    facts = [(title, getattr(image, name)) for title, name in _FACTS if title not in said]
    lines = [("image id", image.image_id), *facts[:1], ("lock SHA-256", image.lock_sha256), *facts[1:]]
    return tuple((title, value) for title, value in lines if value)


def made_by(artifacts: Sequence[Artifact]) -> dict[str, str]:
    """Return what made all artifacts that say so; empty where they differ."""
    makers = [artifact.made_by for artifact in artifacts if artifact.made_by]
    return makers[0] if makers and all(each == makers[0] for each in makers) else {}


def artifacts(found: Sequence[Artifact]) -> Table:
    makers = made_by(found)
    maker: Column[Artifact] = Column("Made by", lambda each: _versions(each.made_by), numeric=False)
    chosen: tuple[Column[Artifact], ...] = (
        Column("Name", lambda each: each.name, numeric=False),
        Column("Size", lambda each: units.size(each.size_bytes)),
        Column("SHA-256", lambda each: Cell(each.sha256, tone="code"), numeric=False),
        *(() if makers else (maker,)),
    )
    title = f"Files handed to the workers{f'; exports are made by {_versions(makers)}' if makers else ''}"
    return tables.make(title, chosen, found, label="artifacts")


def _versions(found: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items())


def inputs(own: OwnFile) -> Table:
    chosen: tuple[Column[OwnInput], ...] = (
        Column("Input", lambda each: each.name, numeric=False),
        Column("Type", lambda each: each.dtype, numeric=False),
        Column("Shape", _shape, numeric=False),
        Column("Values", lambda each: Cell(f"given: {each.sha256}" if each.sha256 else "seeded"), numeric=False),
    )
    given = dict.fromkeys(each for one in own.sized for each in one.inputs)
    return tables.make("Inputs of the file", chosen, tuple(given))


def _shape(each: OwnInput) -> str:
    sides = list(map(str, each.shape))
    if each.batched:
        sides.insert(each.axis, "batch")
    return " × ".join(sides) or "one number"


def plan(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what was planned to be measured: name and value."""
    settings = run.settings

    def listed(values: Iterable[object]) -> str:
        return ", ".join(map(str, values))

    def by_model(sizes: dict[str, tuple[int, ...]]) -> str:
        return "; ".join(f"{names.model(name)} {listed(each)}" for name, each in sizes.items())

    nodes = settings.memory_nodes
    bound = "" if nodes is None else f"not bound: {nodes.reason}" if isinstance(nodes, Absent) else as_text(nodes)
    found = {
        "profile": settings.profile,
        "models": listed(settings.models),
        "backends": listed(settings.backends),
        "scenarios": listed(settings.scenarios),
        "precisions": listed(settings.precisions),
        "throughput batches": by_model(settings.batches),
        "training batches": by_model(settings.training_batches),
        "batches of tokens one by one": by_model(settings.decoding_batches),
        "depths": listed(settings.depths),
        "KV caches": listed(settings.kv_caches),
        "target accuracy": "" if settings.target is None else units.percent(settings.target),
        "threads": listed(settings.thread_counts or (settings.threads,)),
        "processes": listed(settings.process_counts),
        "CPUs": as_text(settings.cpus),
        "memory of NUMA nodes": bound,
        "generations": str(settings.generations),
        "rounds a generation": str(settings.rounds),
        "budget": "none" if settings.budget_seconds is None else units.duration(settings.budget_seconds),
        "a case ends": sentences.ended(settings),
        "margin": units.percent(settings.margin),
        "seed": str(settings.seed),
        "launcher": settings.launcher,
    }
    always = ("models", "backends", "scenarios", "precisions", "CPUs")
    yield from ((name, value) for name, value in found.items() if value or name in always)


_ESSENTIALS = (
    ("cpu", "model", "processor"),
    ("cpu", "cores", "cores"),
    ("cpu", "threads", "hardware threads"),
    ("cpu", "L2 cache", "L2 cache"),
    ("cpu", "L3 cache", "L3 cache"),
    ("cpu", "CPUs measured on", "CPUs measured on"),
    ("cpu", "NUMA nodes measured on", "NUMA nodes measured on"),
    ("cpu", "core kinds measured on", "kinds of core measured on"),
    ("cpu", "SMT siblings measured on", "other threads of these cores"),
    ("clock", "governor", "frequency governor"),
    ("memory", "total bytes", "memory"),
    ("gpu", "name", "GPU"),
    ("gpu", "driver", "GPU driver"),
    ("virtualisation", "hypervisor", "hypervisor"),
    ("system", "distribution", "distribution"),
    ("kernel", "release", "kernel"),
    ("engine", "version", "container engine"),
)
_TITLES = {"cpu": "CPU", "gpu": "GPU", "nvidia-smi": "GPU, by nvidia-smi"}


FROM_ALIKE = 4
"""Facts of a group with one value that share a line."""


class FactLine(msgspec.Struct, frozen=True):
    name: str
    value: str
    known: bool


class Group(msgspec.Struct, frozen=True):
    title: str
    lines: tuple[FactLine, ...]
    """Known facts first, many of one value together; then absences, those of one reason together."""


def essentials(machine: Fingerprint, gpu: int | None = None) -> tuple[FactLine, ...]:
    """Return the facts that distinguish two machines at first sight; `gpu`: index of the one that was used, or None."""
    facts = [
        (group, f"device {gpu} name" if (group, name) == ("gpu", "name") else name, title)
        for group, name, title in _ESSENTIALS
    ]
    found = [_fact(title, name, machine[group][name]) for group, name, title in facts if name in machine.get(group, {})]
    processor_facts = {
        "processor family": processor.identity(machine),
        "instruction set": processor.instructions(machine),
    }
    return (
        *found[:1],
        *(FactLine(name, value, known=True) for name, value in processor_facts.items() if value),
        *found[1:],
    )


def groups(machine: Fingerprint) -> tuple[Group, ...]:
    return tuple(
        Group(title=_TITLES.get(name, name.capitalize()), lines=all_lines(facts)) for name, facts in machine.items()
    )


def all_lines(facts: dict[str, Fact]) -> tuple[FactLine, ...]:
    """Return a line for each known fact, then one for each reason why others are not known."""
    lines = [_fact(name, name, value) for name, value in facts.items() if not isinstance(value, Absent)]
    alike: dict[str, list[str]] = {}
    for line in lines:
        alike.setdefault(line.value, []).append(line.name)
    known = [
        line if len(alike[line.value]) < FROM_ALIKE else FactLine(", ".join(alike[line.value]), line.value, known=True)
        for line in lines
        if len(alike[line.value]) < FROM_ALIKE or line.name == alike[line.value][0]
    ]
    missing: dict[str, list[str]] = {}
    for name, value in facts.items():
        if isinstance(value, Absent):
            missing.setdefault(value.reason, []).append(name)
    unknown = [FactLine(", ".join(titles), f"not known: {reason}", known=False) for reason, titles in missing.items()]
    return (*known, *unknown)


def _fact(title: str, name: str, value: Fact) -> FactLine:
    if isinstance(value, Absent):
        return FactLine(title, f"not known: {value.reason}", known=False)
    if isinstance(value, bool):
        return FactLine(title, "yes" if value else "no", known=True)
    if isinstance(value, int) and name.endswith("bytes") and value > 0:
        return FactLine(title.removesuffix(" bytes"), units.size(value), known=True)
    return FactLine(title, str(value), known=True)
