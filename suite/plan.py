"""From a profile and a selection to an ordered list of blocks; every impossible wish is refused with its reason."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from suite import arms as arm_names
from suite import cores, installed, placing
from suite.backends import precisions, registry
from suite.compatibility.devices import Nvidia
from suite.errors import LevelfieldError
from suite.machine import devices, driver
from suite.names import unknown
from suite.ownmodel import keeping, wishes
from suite.placing import Placement, Wish
from suite.profiles import PROFILES, Profile
from suite.records.schema import Arm, Block, Case, OwnFile, Run, Scenario, Warning_
from suite.references import suffix
from suite.zoo import dataset, models
from suite.zoo.training import convergence

SCENARIOS: tuple[Scenario, ...] = (
    "latency",
    "throughput",
    "training",
    "convergence",
    "data-pipeline",
    "cold-start",
    "memory",
    "latency-device",
    "throughput-device",
)
ON_DEVICE: tuple[Scenario, ...] = ("latency-device", "throughput-device")
"""Scenarios whose inputs and outputs stay on the GPU; in the others they are NumPy arrays in host memory."""
FED: Scenario = "data-pipeline"
"""Scenario whose batches come from a dataset on disk; models without one are left out."""
BATCHED: tuple[Scenario, ...] = ("throughput", "throughput-device", FED)
"""Scenarios that are measured at the batch sizes asked for."""
CANARY = "canary"
EXPORTER = "exporter"
"""Image that writes the ONNX files."""
CONTROLLED = "resnet50"
"""Model whose latency block has the control, where it is in the plan."""
CONTROLS = ("onnxruntime", "jax", "torch")
"""Backends that may stand twice, the quickest to launch first."""
TO_TARGET: Scenario = "convergence"
"""Scenario that trains to a target accuracy, with hyper-parameters of its own; models without such a network are left
out."""
ALONE: tuple[Scenario, ...] = ("cold-start", "memory", TO_TARGET)
"""Scenarios in which the launch itself is the turn."""
MAX_BATCH = 65536


class Selection(msgspec.Struct, frozen=True):
    """What a user asked for; empty means: as the profile says."""

    profile: str = "standard"
    models: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    """Numbers of threads, each a case of its own; empty: one for every core."""
    control: str = "auto"
    """Backend that stands twice in one latency block, as the A/A control; `none` leaves it out."""
    inject: tuple[str, str] | None = None
    """A slowdown (`5%` of a call, or seconds a call) and the arm that gets it."""
    variant: str = "cpu"
    """`cpu`, `cu12`, `cu13`; `auto`: the GPU where one can be used."""
    gpu: str | None = None
    """The one GPU to use: its index, or its UUID."""
    own: OwnFile | None = None
    """A file of the user's own, in the place of models."""
    locked: bool = True
    """False: what is installed runs (the `host` launcher), and no lock chooses a CUDA variant."""


class Plan(msgspec.Struct, frozen=True):
    """What will be done, in this order."""

    profile: Profile
    blocks: tuple[Block, ...]
    models: tuple[str, ...]
    backends: tuple[str, ...]
    """As they were asked for: `onnxruntime`, `onnxruntime@1.30.0`, `onnxruntime+spinning=off`."""
    scenarios: tuple[Scenario, ...]
    precisions: tuple[str, ...]
    batches: dict[str, tuple[int, ...]]
    threads: tuple[int, ...]
    """In rising order; each case names its own."""
    cpus: tuple[int, ...]
    """Those of the largest number of threads."""
    gpu: int | None = None
    """Index of the GPU that is used, as NVML counts; None: none is."""
    training_batches: dict[str, tuple[int, ...]] = {}
    warnings: tuple[Warning_, ...] = ()
    """What a reader must know of how arms were placed."""
    own: OwnFile | None = None
    """A file of the user's own, which then is the one model."""

    @property
    def answering(self) -> tuple[Arm, ...]:
        """The arms that can answer at least one case, each once: the others are absent, and need no image."""
        return tuple({arm.id: arm for _, arm in self._answers()}.values())

    def _answers(self) -> Iterator[tuple[Case, Arm]]:
        for block in self.blocks:
            yield from ((block.case, arm) for arm in block.arms if answers(block.case, arm))

    @property
    def images(self) -> tuple[str, ...]:
        """The images the arms need, as `suite.references` spells them, the canary's among them."""
        reference = [] if self.own is None else [wishes.REFERENCE]
        names = (arm.image + suffix(arm.variant, arm.version) for arm in self.answering)
        return (*dict.fromkeys([*names, *reference]), CANARY)

    @property
    def files(self) -> tuple[tuple[str, str, int], ...]:
        """The ONNX files that are read: model, precision of the file, and batch."""
        found = {
            (case.model, precisions.way(arm.backend, case.precision, case.device).file, case.batch): None
            for case, arm in self._answers()
            if registry.get(arm.backend).reads == "onnx"
        }
        return tuple(found)

    @property
    def injected(self) -> tuple[str, ...]:
        """Ids of the arms that are slowed down on purpose."""
        return tuple(dict.fromkeys(arm.id for block in self.blocks for arm in block.arms if arm.inject))

    @property
    def needs_onnx(self) -> bool:
        """Whether the exporter must work first."""
        return bool(self.files) and self.own is None


def make(selection: Selection, *, available: Sequence[int] | None = None, here: Nvidia | None = None) -> Plan:
    """Turn a selection into a plan.

    Parameters
    ----------
    selection
        What the user typed.
    available
        CPUs this process may use; asked from the kernel where None.
    here
        NVIDIA's driver and GPUs; asked where None, and only where a GPU may be used.

    Raises
    ------
    LevelfieldError
        Unknown names (with the close matches), and selections that cannot be.
    """
    everybody = (*names_of_backends(), *registry.names_on_gpus_only())
    if selection.own is not None:
        everybody = wishes.check(selection.own, selection.models, selection.backends, selection.scenarios, everybody)
    backends = tuple(dict.fromkeys(selection.backends)) or everybody
    wanted = tuple(map(arm_names.parse, backends))
    missing: tuple[Warning_, ...] = ()
    if not selection.locked and not selection.backends:
        wanted, missing = installed.only(wanted)
    placed = _placed(selection, wanted, here, named=bool(selection.backends))
    arms = tuple({arm.id: arm for arm in placed.arms}.values())
    placed = msgspec.structs.replace(placed, arms=arms, warnings=(*missing, *placed.warnings))
    return _plan(selection, placed, available)


def pair(
    selection: Selection,
    first: str,
    second: str,
    *,
    available: Sequence[int] | None = None,
    here: Nvidia | None = None,
) -> Plan:
    """Plan blocks of exactly two arms, which may be the same thing twice.

    Scenarios in which the launch is the turn get as many launches as the others, so that they too can be decided.

    Parameters
    ----------
    selection
        Everything but the backends.
    first, second
        Arms, as `suite.arms` reads them.
    available, here
        As in `make`.

    Raises
    ------
    LevelfieldError
        As in `make`.
    """
    placed = _placed(selection, (arm_names.parse(first), arm_names.parse(second)), here, named=True)
    arms = arm_names.numbered(placed.arms)
    placed = msgspec.structs.replace(placed, arms=arms)
    made = _plan(msgspec.structs.replace(selection, control="none"), placed, available)
    launches = max(made.profile.generations, made.profile.launches_alone)
    # Of a framework and a runtime that reads finished models, one can train: no pair.
    blocks = [block for block in made.blocks if len(block.arms) == len(arms)]
    if not blocks:
        raise LevelfieldError(f"Of {first} and {second} only one can train.", fix="Ask for another scenario.")
    scenarios = tuple(dict.fromkeys(block.case.scenario for block in blocks))
    return msgspec.structs.replace(
        made,
        blocks=tuple(msgspec.structs.replace(block, planned_generations=launches) for block in blocks),
        scenarios=scenarios,
        training_batches=made.training_batches if "training" in scenarios else {},
    )


def _placed(selection: Selection, arms: tuple[Arm, ...], here: Nvidia | None, *, named: bool) -> Placement:
    """Decide which arms compute on a GPU; where nobody asked for one, and none is there, nothing is looked for."""
    gpu = devices.index_of(selection.gpu) if selection.gpu is not None else None
    wish = Wish(selection.variant, gpu, named=named, locked=selection.locked)
    if selection.variant == "cpu" and gpu is None and all(arm.variant == "cpu" for arm in arms):
        return placing.on_cpu(arms, wish)
    return placing.place(arms, wish, here or driver.nvidia())


def _plan(selection: Selection, placed: Placement, available: Sequence[int] | None) -> Plan:
    arms = placed.arms
    profile = PROFILES[_known("profile", [selection.profile], PROFILES)[0]]
    own = selection.own
    chosen_models = _known("model", selection.models, names_of_models()) or names_of_models()
    chosen_models = chosen_models if own is None else (own.model,)
    scenarios = _known("scenario", selection.scenarios, SCENARIOS) or profile.scenarios
    on_device = next((scenario for scenario in scenarios if scenario in ON_DEVICE), None)
    if placed.gpu is None and on_device is not None:
        raise LevelfieldError(
            f"{on_device} keeps inputs and outputs on a GPU, and none is used.",
            fix="Ask for latency or throughput, or for a GPU with --gpu 0.",
        )
    wanted = selection.precisions if own is None else wishes.precisions(own, selection.precisions)
    precisions_asked = _precisions(wanted, arms, placed.device)
    there = tuple(available if available is not None else sorted(os.sched_getaffinity(0)))
    threads = cores.counts(selection.threads, there)
    sizes_of = profile.batches if own is None else {own.model: wishes.batches(own, selection.batches, profile)}
    batches = {model: _batches(selection.batches, sizes_of[model]) for model in chosen_models}
    in_fp32 = "fp32" in precisions_asked
    if not in_fp32 and {"training", TO_TARGET} & set(selection.scenarios):
        raise LevelfieldError(
            "Training is measured in fp32 alone.", fix="Add fp32 to --precision, or ask for other scenarios."
        )
    to_target = _to_target(selection, arms, profile, chosen_models) if TO_TARGET in scenarios and in_fp32 else {}
    trained = _trained(selection, arms, profile, chosen_models) if "training" in scenarios and in_fp32 else {}
    sizes = dict.fromkeys(BATCHED, batches) | {"training": trained, TO_TARGET: to_target}
    cases = tuple(
        Case(model, scenario, precision, batch, count, placed.device)
        for scenario in _in_order(scenarios)
        for model, precision, count in itertools.product(chosen_models, precisions_asked, threads)
        for batch in (sizes[scenario].get(model, ()) if scenario in sizes else (1,))
        if scenario not in {"training", TO_TARGET} or precision == "fp32"  # the recipes are of fp32
        if scenario != FED or dataset.known(models.get(model))
    )
    if not cases:
        raise LevelfieldError(
            f"{', '.join(chosen_models)}: {FED} reads images or features, and this model takes neither."
            if FED in scenarios
            else f"{', '.join(chosen_models)}: there is no network of this kind that is trained to a target.",
            fix=f"Ask for {', '.join(name for name in names_of_models() if dataset.known(models.get(name)))}.",
        )
    controlled = next((case for case in cases if case.scenario == "latency" and case.model == CONTROLLED), None)
    controlled = controlled or next((case for case in cases if case.scenario == "latency"), None)
    return Plan(
        profile=profile,
        blocks=tuple(_block(case, _with_control(case, arms, selection, controlled), profile) for case in cases),
        models=chosen_models,
        backends=tuple(dict.fromkeys(msgspec.structs.replace(arm, ordinal=1).id for arm in arms)),
        scenarios=tuple(dict.fromkeys(case.scenario for case in cases)),
        precisions=precisions_asked,
        batches=batches if any(scenario in BATCHED for scenario in scenarios) else {},
        threads=threads,
        cpus=cores.pinned(max(threads), there),
        training_batches=trained,
        gpu=placed.gpu,
        warnings=placed.warnings,
        own=own,
    )


def answers(case: Case, arm: Arm) -> bool:
    """Say whether an arm computes in a case's precision on its device; if not, `suite.backends.precisions` has why."""
    return not precisions.why_not(arm.backend, case.precision, case.device)


def _precisions(asked: Sequence[str], arms: Sequence[Arm], device: str) -> tuple[str, ...]:
    """Return the precisions to measure; each must be one that at least one arm computes in.

    Raises
    ------
    LevelfieldError
        There is no such precision, or none of the arms computes in it: the reasons are told.
    """
    chosen = _known("precision", asked, precisions.PRECISIONS) or ("fp32",)
    for precision in chosen:
        reasons = [precisions.why_not(arm.backend, precision, device) for arm in arms]
        if all(reasons):
            there = [name for name in precisions.PRECISIONS if name != precision]
            others = [name for name in there if any(name in precisions.supported(arm.backend, device) for arm in arms)]
            raise LevelfieldError(
                f"Nobody here computes in {precision} on the {device.upper() if device == 'cpu' else 'GPU'}. "
                + " ".join(dict.fromkeys(reasons)),
                fix=f"Choose --precision {','.join(others)}.",
            )
    return chosen


def _trained(
    selection: Selection, arms: tuple[Arm, ...], profile: Profile, chosen: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return which models are trained, and in which batches; none where no arm can train and nobody asked for it.

    To name all scenarios of a profile is to ask for the profile: that is how a report spells out its own command.
    """
    asked = _asked("training", selection, profile)
    if not _can_train(arms, asked=asked):
        return {}
    models_ = chosen if asked else [model for model in chosen if model in profile.trained]
    return {model: _batches(selection.batches, profile.training_batches[model]) for model in models_}


def _to_target(
    selection: Selection, arms: tuple[Arm, ...], profile: Profile, chosen: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return which models have a network that is trained to a target, each with the one batch of its recipe."""
    if not _can_train(arms, asked=_asked(TO_TARGET, selection, profile)):
        return {}
    return {model: (convergence.of(model).batch,) for model in chosen if convergence.known(model)}


def _asked(scenario: Scenario, selection: Selection, profile: Profile) -> bool:
    """Say whether a scenario was asked for by name, and not just as one of all those of the profile."""
    return scenario in selection.scenarios and set(selection.scenarios) != set(profile.scenarios)


def _can_train(arms: tuple[Arm, ...], *, asked: bool) -> bool:
    """Say whether any arm can train.

    Raises
    ------
    LevelfieldError
        None can, and it was asked for.
    """
    if any(registry.get(arm.backend).trains for arm in arms):
        return True
    if asked:
        names = ", ".join(dict.fromkeys(arm.backend for arm in arms))
        raise LevelfieldError(
            f"{names} cannot train: a finished model is read there.",
            fix=f"Ask for {', '.join(name for name in names_of_backends() if registry.get(name).trains)}.",
        )
    return False


def _with_control(case: Case, arms: tuple[Arm, ...], selection: Selection, controlled: Case | None) -> tuple[Arm, ...]:
    """Let one backend stand twice in one block, and slow down the arm that was named."""
    if case == controlled and selection.control != "none":
        able = [arm for arm in arms if answers(case, arm)]
        backends = {arm.backend: arm for arm in reversed(able)} | {arm.id: arm for arm in able}
        wanted = selection.control
        if wanted == "auto":
            wanted = next((name for name in CONTROLS if name in backends), able[0].id)
        twin = backends[_known("backend", [wanted], backends)[0]]
        arms = arm_names.numbered((*arms, twin))
    if selection.inject is None:
        return arms
    amount, name = selection.inject
    known = {arm.id for arm in arms} | {f"{arm.id}#2" for arm in arms if arm.ordinal == 1}
    _known("arm", [name], known)
    return tuple(msgspec.structs.replace(arm, inject=amount) if arm.id == name else arm for arm in arms)


def _block(case: Case, arms: tuple[Arm, ...], profile: Profile) -> Block:
    if case.trains or case.converges:
        arms = tuple(arm for arm in arms if registry.get(arm.backend).trains)
    if case.converges:
        return Block(case=case, arms=arms, planned_generations=profile.seeds)
    if case.scenario in ALONE:
        return Block(case=case, arms=arms, planned_generations=profile.launches_alone)
    return Block(case=case, arms=arms, planned_generations=profile.generations, canary=CANARY)


def names_of_models() -> tuple[str, ...]:
    return tuple(name for name in models.names() if name != CANARY)


def names_of_backends() -> tuple[str, ...]:
    return tuple(name for name in registry.names() if name != CANARY)


def all_images() -> tuple[str, ...]:
    """Return every image that some run needs: one for each framework, the exporter, the canary."""
    return tuple(dict.fromkeys((*(registry.get(name).image for name in names_of_backends()), EXPORTER, CANARY)))


def _in_order(scenarios: Iterable[str]) -> list[Scenario]:
    """Cold starts come first: they need empty compile caches, and fill them for the rest of the run."""
    order: tuple[Scenario, ...] = (
        "cold-start",
        "memory",
        "latency",
        "throughput",
        "training",
        TO_TARGET,
        FED,
        *ON_DEVICE,
    )
    wanted = set(scenarios)
    return [scenario for scenario in order if scenario in wanted]


def _known(kind: str, asked: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    names = list(known)
    for name in asked:
        if name not in names:
            raise unknown(kind, name, names)
    return tuple(dict.fromkeys(asked))


def _batches(asked: tuple[int, ...], otherwise: tuple[int, ...]) -> tuple[int, ...]:
    for batch in asked:
        if not 1 <= batch <= MAX_BATCH:
            raise LevelfieldError(
                f"A batch of {batch} cannot be measured.", fix=f"Choose a number from 1 to {MAX_BATCH}."
            )
    return tuple(dict.fromkeys(asked)) or otherwise


def of(run: Run) -> Plan:
    """Return the plan that a record began with, to go on with it or to run it again."""
    settings = run.settings
    return Plan(
        profile=PROFILES[_known("profile", [settings.profile], PROFILES)[0]],
        blocks=tuple(msgspec.structs.replace(block, generations=()) for block in run.blocks),
        models=settings.models,
        backends=settings.backends,
        scenarios=tuple(dict.fromkeys(block.case.scenario for block in run.blocks)),
        precisions=settings.precisions,
        batches=settings.batches,
        threads=settings.thread_counts or (settings.threads,),
        cpus=settings.cpus,
        gpu=settings.gpu,
        training_batches=settings.training_batches,
        own=keeping.again(settings.own) if settings.own is not None else None,
    )
