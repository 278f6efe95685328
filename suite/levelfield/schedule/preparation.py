"""Before anything is measured: images, weights, ONNX files and reference outputs, all made or found."""

import functools
import math
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import TypeAlias, TypeVar

import msgspec

from levelfield import plugins
from levelfield.backends.info import ONNX
from levelfield.compatibility import gate, libraries
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, engine
from levelfield.launchers.credible import Amounts
from levelfield.launchers.docker import DockerLauncher
from levelfield.launchers.protocol import Launcher, LaunchSpec
from levelfield.machine import control_groups, topology
from levelfield.machine.fingerprint import fingerprint
from levelfield.machine.gpu import uuid_of
from levelfield.plan import CANARY, Plan
from levelfield.plan.decoding import call_of
from levelfield.plan.types import FileKey, file_key
from levelfield.prepare.artifacts import Artifacts, ModelFile
from levelfield.prepare.own_model import python_file, reference, store
from levelfield.record.schema import Arm, Case, Image, OwnFile
from levelfield.schedule import outcomes, resources
from levelfield.schedule.listener import ProgressListener, Repeating
from levelfield.schedule.output_verification import verify_count
from levelfield.schedule.resources import Driver, RunResources, Stopwatch
from levelfield.zoo import models, weights

_T = TypeVar("_T")
_Networks: TypeAlias = dict[str, python_file.Exported | LevelfieldError]
"""What was made of each function of a file in Python, by model; or why nothing was."""
IMAGES_AT_ONCE = 2
"""To make one waits for the network and the disk half of the time."""
EXPORTS_AT_ONCE = 2
"""An exporter computes in one thread for the most part."""


def prepare(
    plan: Plan,
    launcher: Launcher,
    listener: ProgressListener,
    *,
    judged: bool = True,
    launchers: Mapping[str, Launcher] = {},
    target: float | None = None,
) -> RunResources:
    """Make everything the plan needs: images, weights, ONNX files, and, where answers are judged, reference outputs.

    `target`: accuracy that is trained to; None: that of each network.
    """
    python_file.check_isolated(plan.own, (each.kind for each in (launcher, *launchers.values())))
    watch = Stopwatch()
    container = next((each for each in (launcher, *launchers.values()) if isinstance(each, DockerLauncher)), None)
    emulated = container.emulates() if container is not None else ""
    if emulated and plan.profile.name != "smoke":
        raise LevelfieldError(
            f"The processor of these images is emulated ({emulated}), so that no time says anything.",
            fix="Use --profile smoke, which compares answers and ranks nothing.",
        )
    with watch.phase("preparing"), Repeating(listener) as steps:
        gpu = uuid_of(plan.gpu) if plan.gpu is not None else ""
        if gpu and container is not None:
            steps.say("asking the engine for the GPU")
            container.check_gpu(container.prepare(CANARY, "cpu", None, steps.say), gpu)
        arranged = topology.read()
        nodes = arranged.memory_nodes(plan.cpus)
        asked_of = (launcher, *launchers.values()) if nodes else ()
        unbound = next(filter(None, (each.cannot_bind_memory() for each in asked_of)), "")
        artifacts = Artifacts(progress=steps.say)
        driver = _driver(plan, {"": launcher, **launchers}, artifacts, steps)
        images, files, exported = _made(plan, {"": launcher, **launchers}, artifacts, steps, judged=judged)
        zoo = plan.models if plan.own is None else ()
        weights_sha256 = {name: artifacts.weights_artifact(name).sha256 for name in zoo}
        return RunResources(
            launcher=launcher,
            images=images,
            artifacts=artifacts,
            files=files,
            weights_sha256={CANARY: weights.sha256(weights.make(models.get(CANARY))), **weights_sha256},
            cpus=plan.cpus,
            topology=arranged,
            memory_unbound=unbound,
            memory_bytes=control_groups.limit_bytes(arranged.least_memory_bytes(() if unbound else nodes)),
            caches=_caches(plan),
            gpu=gpu,
            launchers=dict(launchers),
            own=_own(plan, {"": launcher, **launchers}, images, exported, steps),
            target=target,
            driver=driver,
            emulated=emulated,
            watch=watch,
            amounts=Amounts(len({arm.id for block in plan.blocks for arm in block.arms})),
        )


def _caches(plan: Plan) -> Path:
    """Return the folder of compile caches: empty where cold starts are measured, or a user's model is compiled."""
    cold = any(block.case.definition.sample == "cold start" for block in plan.blocks)
    return resources.new_caches() if cold or plan.own is not None else resources.kept_caches(fingerprint(plan.cpus))


def _driver(
    plan: Plan, launchers: Mapping[str, Launcher], artifacts: Artifacts, listener: ProgressListener
) -> Driver | None:
    """Let a plug-in prepare what makes the calls of its scenarios, for every Python that workers run."""
    name = next((block.case.scenario for block in plan.blocks if block.case.definition.driven), "")
    if not name:
        return None
    preparing, broken = plugins.brought(plugins.SCENARIOS, FunctionType)
    if "loadgen" not in preparing:
        absent = f"The scenario {name} comes with levelfield-loadgen, which is not installed here."
        raise LevelfieldError(
            broken[0].sentence if broken else absent, fix="In a checkout: pipx inject levelfield ./plugins/loadgen"
        )
    pythons = [
        ".".join(platform.python_version_tuple()[:2])
        if launchers[arm.launcher].kind == "host"
        else catalogue.lock(arm.image, arm.variant, arm.version).python
        for arm in plan.answering
    ]
    driver: Driver = preparing["loadgen"](pythons, artifacts.root, listener.say)
    return driver


def _own(
    plan: Plan,
    launchers: Mapping[str, Launcher],
    images: dict[tuple[str, str, str, str | None], Image],
    exported: _Networks,
    listener: ProgressListener,
) -> tuple[reference.Reference, ...]:
    """Compute the reference of the user's own file, for each of its sizes or functions.

    A network in Python is compared with its own answer in float64, or else with that of the first arm of its framework
    whose version is not known to answer wrongly.

    `exported`: by model.
    """
    if plan.own is None:
        return ()
    native = [arm for arm in plan.answering if file_key(plan.blocks[0].case, arm) is None]
    first = next(iter(_reference_arm(plan)), None) or min(native, key=_known_wrong, default=None)

    def spec_of(own: OwnFile, arm: Arm) -> LaunchSpec:
        return LaunchSpec(
            name=f"reference of {own.model}",
            image=images[arm.launcher, arm.image, arm.variant, arm.version],
            threads=len(plan.cpus),
            cpus=plan.cpus,
            memory_bytes=control_groups.limit_bytes(),
            artifacts=Artifacts().root,
            reads=store.readable(own),
        )

    def of_function(own: OwnFile) -> reference.Reference:
        made = exported.get(own.model)
        if isinstance(made, LevelfieldError):
            raise made
        if made is not None and made.answers:
            return reference.of_float64(own, made)
        if first is None:
            raise LevelfieldError(
                f"{own.function} of {own.file} has no answer in float64 ({made.unanswered if made else 'not asked'}), "
                "and no backend of its own framework is measured: nothing could be compared.",
                fix=f"Name {own.framework} among --backends: its answer is then the reference.",
            )
        launcher = launchers[first.launcher]
        found = reference.of_first(own, first, launcher=launcher, spec=spec_of(own, first), progress=listener.say)
        return msgspec.structs.replace(found, exported=made)

    if plan.own.function:
        answered = _each(plan.own, of_function)
        return tuple(
            reference.without_answers(each, found.message) if isinstance(found, LevelfieldError) else found
            for each, found in zip(plan.own.sized, answered.values(), strict=True)
        )
    (arm,) = _reference_arm(plan)
    spec, launcher = spec_of(plan.own, arm), launchers[arm.launcher]
    names = [each.model for each in plan.own.sized]
    batches = {name: [block.case.batch for block in plan.blocks if block.case.model == name] for name in names}
    computed = tuple(
        reference.compute(
            each, batches[each.model], image=spec.image, launcher=launcher, spec=spec, progress=listener.say
        )
        for each in plan.own.sized
    )
    try:
        exporter = launchers[""].prepare(ONNX.image, "cpu", None, listener.say)
    except LevelfieldError as error:
        listener.say(f"how far its answers move is not known: {error}")
        return computed
    spec = msgspec.structs.replace(spec, name=f"sensitivity of {plan.own.model}", image=exporter)
    return tuple(
        reference.with_moves(each, launcher=launchers[""], spec=spec, progress=listener.say) for each in computed
    )


def _each(own: OwnFile, work: Callable[[OwnFile], _T]) -> dict[str, _T | LevelfieldError]:
    """Do a work for each function of a file: one that fails leaves its error in the place of what was made.

    Raises LevelfieldError: the first, where all fail.
    """
    found: dict[str, _T | LevelfieldError] = {}
    for each in own.sized:
        try:
            found[each.model] = work(each)
        except LevelfieldError as error:
            found[each.model] = error
    errors = [each for each in found.values() if isinstance(each, LevelfieldError)]
    if len(errors) == len(found):
        raise errors[0]
    return found


def _known_wrong(arm: Arm) -> bool:
    versions = catalogue.lock(arm.image, arm.variant, arm.version).versions
    return any(libraries.known_wrong(gate.read(), versions, arm.backend))


def _made(
    plan: Plan, launchers: Mapping[str, Launcher], artifacts: Artifacts, listener: ProgressListener, *, judged: bool
) -> tuple[dict[tuple[str, str, str, str | None], Image], dict[FileKey, ModelFile], _Networks]:
    """Make model files, images (the canary's base first, then the longest), weights and references.

    Of networks in Python return also the answers, by model.
    """
    images: dict[tuple[str, str, str, str | None], Image] = {}
    files: dict[FileKey, ModelFile] = {}
    exported: _Networks = {}

    def image_of(place: str, name: str, variant: str, version: str | None) -> None:
        images[place, name, variant, version] = launchers[place].prepare(name, variant, version, listener.say)

    arms = (*plan.answering, canary_arm(), *_reference_arm(plan))
    found = dict.fromkeys((arm.launcher, arm.image, arm.variant, arm.version) for arm in arms)
    keys = sorted(found, key=lambda key: (key[1] != CANARY, -_wheel_bytes(launchers[key[0]], *key[1:])))
    outcomes.run_jobs(
        [
            lambda: files.update(_exports(plan, launchers[""], artifacts, exported, listener)),
            *(functools.partial(image_of, *key) for key in keys),
            lambda: _references(plan, artifacts, judged=judged),
        ],
        at_once=IMAGES_AT_ONCE,
    )
    engine.wait_for_removals()
    return {key: images[key] for key in found}, files, exported


def _references(plan: Plan, artifacts: Artifacts, *, judged: bool) -> None:
    """Make the weights of the zoo's models, and where answers are judged what they are compared with."""
    zoo = plan.models if plan.own is None else ()
    for model in zoo:
        artifacts.weights(model)
    # In how many processes a model is trained makes no other reference.
    asked = dict.fromkeys(msgspec.structs.replace(block.case, processes=1) for block in plan.blocks if zoo)
    for case in (*asked, canary_case(len(plan.cpus))) if judged else ():
        if case.trains:
            artifacts.trajectory(case.model)
            continue
        if case.converges:  # each seed's is computed when its turn comes
            continue
        from_dataset, call = case.definition.from_dataset, call_of(case)
        artifacts.reference(case.model, verify_count(case), from_dataset=from_dataset, call=call)
        artifacts.sensitivity(case.model, case.precision, from_dataset=from_dataset, call=call)
        if case.precision != "fp32":
            artifacts.rounding_error(case.model, case.precision, verify_count(case))


def _wheel_bytes(launcher: Launcher, name: str, variant: str, version: str | None) -> float:
    """Return what an image takes to fetch; where it is not known, the most."""
    if launcher.kind == "host":
        return 0.0
    pins = catalogue.lock(name, variant, version).pins
    return sum(pin.size_bytes for pin in pins) if all(pin.sized for pin in pins) else math.inf


def _reference_arm(plan: Plan) -> tuple[Arm, ...]:
    asked = plan.own is not None and not plan.own.function
    return (Arm(reference.IMAGE, reference.IMAGE),) if asked else ()


def _exports(
    plan: Plan, launcher: Launcher, artifacts: Artifacts, networks: _Networks, listener: ProgressListener
) -> dict[FileKey, ModelFile]:
    """Return the model files; `networks` is given what was made of networks in Python, by model."""
    if plan.own is not None and not plan.own.function:
        sized = {each.model: each for each in plan.own.sized}
        return {key: store.prepared(sized[key.model], key.batch) for key in plan.files}
    exporters = {name: launcher.prepare(name, "cpu", None, listener.say) for name in plan.exporters}
    if plan.own is not None:
        if not exporters:
            return {}
        image = next(iter(exporters.values()))
        networks.update(_each(plan.own, lambda each: python_file.export(each, image, launcher, listener.say)))
        made = {key: network for key in plan.files if isinstance(network := networks[key.model], python_file.Exported)}
        return {key: network.file for key, network in made.items() if network.file is not None}
    files: dict[FileKey, ModelFile] = {}

    def export(key: FileKey) -> None:
        files[key] = artifacts.exported(
            key.model, key.form, key.batch, exporter=exporters[key.format.image], launcher=launcher, form=key.format
        )

    outcomes.run_jobs([functools.partial(export, key) for key in plan.files], at_once=EXPORTS_AT_ONCE)
    return {key: files[key] for key in plan.files}


def canary_arm() -> Arm:
    return Arm(backend=CANARY, image=CANARY)


def canary_case(threads: int) -> Case:
    return Case(CANARY, "latency", "fp32", 1, threads)
