"""Before anything is measured: images, weights, ONNX files and reference outputs, all made or found."""

import functools
from collections.abc import Mapping

import msgspec
import psutil

from suite import scratch, together
from suite.artifacts import Artifacts, Onnx
from suite.launchers.docker import DockerLauncher
from suite.launchers.protocol import Launcher, LaunchSpec
from suite.machine import devices
from suite.own_file import keeping, reference
from suite.own_images.asked import Wanted, ready
from suite.plan import CANARY, EXPORTER, Plan
from suite.records.schema import Arm, Case, Image
from suite.site import Site
from suite.verification import verify_count
from suite.watching import Watcher
from suite.zoo import models, weights

MEMORY_SHARE = 0.75
"""Share of the machine's memory that one worker may take at the most."""
MEMORY_BYTES = 12 << 30
IMAGES_AT_ONCE = 2
"""To make one waits for the network and the disk half of the time."""


def prepare(
    plan: Plan,
    launcher: Launcher,
    watcher: Watcher,
    *,
    judged: bool = True,
    launchers: Mapping[str, Launcher] = {},
    wanted: Wanted | None = None,
) -> Site:
    """Make everything the plan needs: images, weights, ONNX files, and, where answers are judged, reference outputs.

    Parameters
    ----------
    launcher
        Of the canary, the exporter, and every arm that names no other.
    launchers
        Those that arms name.
    wanted
        What is trained to a target on, where the user said so.
    """
    gpu = devices.uuid_of(plan.gpu) if plan.gpu is not None else ""
    container = next((each for each in (launcher, *launchers.values()) if isinstance(each, DockerLauncher)), None)
    if gpu and container is not None:
        watcher.say("asking the engine for the GPU")
        container.check_gpu(container.prepare(CANARY, "cpu", None, watcher.say), gpu)
    artifacts = Artifacts(progress=watcher.say)
    trained = ready(wanted, plan.blocks, artifacts, watcher.say) if wanted is not None else None
    images, onnx = _images_and_exports(plan, {"": launcher, **launchers}, artifacts, watcher)
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
        artifacts.reference(case.model, verify_count(case), from_dataset=case.scenario == "data-pipeline")
        if case.precision != "fp32":
            artifacts.rounding_error(case.model, case.precision, verify_count(case))
    return Site(
        launcher=launcher,
        images=images,
        artifacts=artifacts,
        onnx=onnx,
        weights_sha256={
            CANARY: weights.sha256(weights.make(models.get(CANARY))),
            **{name: artifacts.weights_artifact(name).sha256 for name in zoo},
        },
        cpus=plan.cpus,
        memory_bytes=_memory_limit(),
        caches=scratch.make(),
        gpu=gpu,
        launchers=dict(launchers),
        own=_own(plan, launcher, images, watcher),
        trained=trained,
    )


def _own(
    plan: Plan, launcher: Launcher, images: dict[tuple[str, str, str, str | None], Image], watcher: Watcher
) -> reference.Reference | None:
    """Have the user's own file answered by what the others are held against."""
    if plan.own is None:
        return None
    image = images["", reference.IMAGE, "cpu", None]
    spec = LaunchSpec(
        name=f"reference of {plan.own.model}",
        image=image,
        threads=len(plan.cpus),
        cpus=plan.cpus,
        memory_bytes=_memory_limit(),
        artifacts=Artifacts().root,
    )
    batches = [block.case.batch for block in plan.blocks]
    return reference.ask(plan.own, batches, image=image, launcher=launcher, spec=spec, progress=watcher.say)


def _images_and_exports(
    plan: Plan, launchers: Mapping[str, Launcher], artifacts: Artifacts, watcher: Watcher
) -> tuple[dict[tuple[str, str, str, str | None], Image], dict[tuple[str, str, int], Onnx]]:
    """Make all images, and meanwhile, as soon as their exporter is there, the ONNX files."""
    images: dict[tuple[str, str, str, str | None], Image] = {}
    onnx: dict[tuple[str, str, int], Onnx] = {}

    def image_of(place: str, name: str, variant: str, version: str | None) -> None:
        images[place, name, variant, version] = launchers[place].prepare(name, variant, version, watcher.say)

    arms = (*plan.answering, canary_arm(), *([Arm(reference.IMAGE, reference.IMAGE)] if plan.own is not None else []))
    keys = dict.fromkeys((arm.launcher, arm.image, arm.variant, arm.version) for arm in arms)
    together.run(
        [
            lambda: onnx.update(_exports(plan, launchers[""], artifacts, watcher)),
            *(functools.partial(image_of, *key) for key in keys),
        ],
        at_once=IMAGES_AT_ONCE,
    )
    return {key: images[key] for key in keys}, onnx


def _exports(
    plan: Plan, launcher: Launcher, artifacts: Artifacts, watcher: Watcher
) -> dict[tuple[str, str, int], Onnx]:
    if plan.own is not None:
        return {key: keeping.prepared(plan.own, key[2]) for key in plan.files}
    if not plan.files:
        return {}
    exporter = launcher.prepare(EXPORTER, "cpu", None, watcher.say)
    return {key: artifacts.onnx(*key, exporter=exporter, launcher=launcher, progress=watcher.say) for key in plan.files}


def _memory_limit() -> int:
    return min(MEMORY_BYTES, int(psutil.virtual_memory().total * MEMORY_SHARE))


def canary_arm() -> Arm:
    return Arm(backend=CANARY, image=CANARY)


def canary_case(threads: int) -> Case:
    return Case(CANARY, "latency", "fp32", 1, threads)
