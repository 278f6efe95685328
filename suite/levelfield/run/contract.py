"""What a backend has to keep, checked on a real worker: for whoever writes one (docs/plugins.md)."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from levelfield import plan
from levelfield.backends import precisions, registry
from levelfield.backends.info import PRECISIONS, BackendInfo
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.plan import Plan, Selection, arms
from levelfield.plan.names import known
from levelfield.record.schema import Absent, Case, Parity
from levelfield.schedule.launches import LOAD_TIMEOUT_S, PROBE_TIMEOUT_S, bring_up, paths_of
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.output_verification import verify_again
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import RunResources, remove_caches, task_for
from levelfield.worker.messages import Load, Loaded, Measure, Measured, Probe, Probed, Task
from levelfield.zoo import models

LOADS = 4
"""Times that a model is loaded again, after the first two, while memory is watched."""
GROWTH_BYTES = 48 << 20
"""By which a worker may grow in these loads, beside a tenth of the weights' size: allocators keep some."""
WINDOW_NS = 500_000_000
CPU_SHARE = 1.2
"""Of the CPU time that its threads may use in a window: other threads of the process read the protocol."""
MEASURE_TIMEOUT_S = 120.0

_IMPORTS = """
import sys
from levelfield.backends import registry
before = set(sys.modules)
info = registry.get(sys.argv[1])
print(",".join(name for name in info.imports if name in set(sys.modules) - before))
"""


State: TypeAlias = Literal["passed", "failed", "not asked"]


class Check(msgspec.Struct, frozen=True):
    """The result of one check."""

    name: str
    state: State
    detail: str
    """What was found, in words."""


def check(backend: str, model: str, launcher: Launcher, listener: ProgressListener) -> Iterator[Check]:
    """Check a backend, one result after the other; LevelfieldError: it is not known, or cannot be planned."""
    chosen = _plan(backend, model, launcher)
    info = registry.get(backend)
    yield _imports(info)
    if launcher.kind != "host":
        yield from map(_lock, dict.fromkeys((info.image, *([info.format.image] if info.format is not None else []))))
    resources = prepare(chosen, launcher, listener)
    try:
        for block in chosen.blocks:
            yield from _launched(resources, block.case, info, chosen)
    finally:
        remove_caches(resources.caches)


def _plan(backend: str, model: str, launcher: Launcher) -> Plan:
    arms.parse(backend)
    known("model", [model], plan.names_of_models())
    there = precisions.supported(backend)
    wanted = tuple(name for name in there if name != "int8" or models.get(model).quantized)
    if not wanted:
        raise LevelfieldError(
            f"{backend} does not compute {model} on a CPU, and the contract is checked there.",
            fix="Choose another model with --model.",
        )
    return plan.make(
        Selection(
            profile="smoke",
            models=(model,),
            backends=(backend,),
            scenarios=("latency",),
            precisions=wanted,
            threads=(1,),
            control="none",
            locked=launcher.kind != "host",
        )
    )


def _imports(info: BackendInfo) -> Check:
    """Check that what is known of the backend is known without its framework."""
    name = "its entry imports no framework"
    done = subprocess.run(
        [sys.executable, "-P", "-c", _IMPORTS, info.name],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    found = done.stdout.strip()
    if done.returncode:
        return Check(name, "failed", done.stderr.strip()[-300:])
    return Check(name, "failed" if found else "passed", found or f"none of {', '.join(info.imports)} is imported")


def _lock(image: str) -> Check:
    """Check that an image's lock has what every worker needs, in the versions that every other image has."""
    name = f"the lock of {image}"
    try:
        versions = catalogue.lock(image).versions
    except LevelfieldError as error:
        return Check(name, "failed", f"{error.message} Run: levelfield images lock {image}.")
    shared = dict(line.split("==") for line in catalogue.of_workers(image))
    wrong = [
        f"{each} {versions.get(each, 'is missing')}" for each, wanted in shared.items() if versions.get(each) != wanted
    ]
    if wrong:
        return Check(name, "failed", f"{', '.join(wrong)}; every image has {', '.join(map('=='.join, shared.items()))}")
    return Check(name, "passed", f"{len(versions)} distributions")


def _launched(resources: RunResources, case: Case, info: BackendInfo, chosen: Plan) -> Iterator[Check]:
    """Check one precision in one worker; what it refuses is asked in the first precision alone."""
    (arm,) = next(block.arms for block in chosen.blocks if block.case == case)
    where = case.precision
    (outcome,) = bring_up(resources, case, [arm])
    try:
        launch, worker = outcome.launch, outcome.worker
        if worker is None:
            why = launch.failure.message if launch.failure is not None else "its worker is gone"
            yield Check(f"{where}: it loads", "failed", why)
            return
        yield Check(f"{where}: it loads", "passed", f"{info.distribution} {launch.framework_version}")
        yield _version(resources, outcome, info)
        why = launch.failure.message if launch.failure is not None else "it was not compared"
        yield _judged(f"{where}: it answers as the reference does", launch.parity, "failed", why)
        verify_again(resources, case, outcome)
        again = outcome.launch.parity_after
        yield _judged(f"{where}: it answers so again", again, "not asked", "it was not equal the first time")
        if not worker.alive:
            return
        yield _settings(where, launch.settings)
        yield _threads(where, worker, case)
        task = task_for(resources, case, arm, paths_of(resources, outcome))
        if case == chosen.blocks[0].case:
            yield from _refusals(info, worker, task)
        yield _frees(where, worker, task, case.model)
    finally:
        end_workers([outcome])


def _version(resources: RunResources, outcome: Outcome, info: BackendInfo) -> Check:
    name = "its version is that of its distribution"
    image = resources.image(outcome.arm)
    said = outcome.launch.framework_version or ""
    if not image.lock_sha256:
        return Check(name, "not asked", "no lock names it")
    found = catalogue.lock(info.image).versions.get(info.distribution, "not in the lock")
    same = said.partition("+")[0] == found.partition("+")[0]
    return Check(name, "passed" if same else "failed", f"it says {said}; the lock of {info.image}: {found}")


def _judged(name: str, parity: Parity | None, otherwise: State, why: str) -> Check:
    """Return what a comparison says; `otherwise` and `why` where there was none."""
    if parity is None:
        return Check(name, otherwise, why)
    error = parity.relative_error
    said = error.reason if isinstance(error, Absent) else f"relative error {error:.2g}, allowed {parity.tolerance:.2g}"
    return Check(name, "passed" if parity.equal else "failed", f"{said}. {parity.reason}".rstrip(" ."))


def _settings(where: str, settings: Mapping[str, str]) -> Check:
    name = f"{where}: it says what it was set to"
    own = {key: value for key, value in settings.items() if key != "precision"}
    said = ", ".join(f"{key}: {value}" for key, value in own.items())
    return Check(
        name, "passed" if "threads" in own else "failed", said or "nothing; it should say its threads at least"
    )


def _threads(where: str, worker: Worker, case: Case) -> Check:
    name = f"{where}: it keeps to {case.threads} thread"
    try:
        used = worker.ask(Measure(window_ns=WINDOW_NS, rewarm_calls=2), Measured, MEASURE_TIMEOUT_S).window
    except WorkerError as error:
        return Check(name, "failed", error.message)
    share = (used.user_ns + used.system_ns) / max(1, used.window_ns + sum(used.rewarm_ns))
    return Check(name, "passed" if share <= CPU_SHARE * case.threads else "failed", f"{share:.2f} CPUs were used")


def _refusals(info: BackendInfo, worker: Worker, task: Task) -> Iterator[Check]:
    """Check that what it does not do is refused as unsupported, with a reason, and the worker goes on."""
    there = precisions.supported(info.name, own=True)
    asked: list[tuple[str, dict[str, Any]]] = [
        (f"precision {each}", {"precision": each}) for each in PRECISIONS if each not in there
    ]
    asked += [("no thread at all", {"threads": 0}), ("a setting that there is not", {"settings": {"no-such": "on"}})]
    asked += [("a device that it does not run on", {"device": "cuda"})] if "cuda" not in info.devices else []
    for what, changes in asked:
        yield _refused(f"it refuses {what}", worker, msgspec.structs.replace(task, **changes))
    yield _recovers("it goes on after refusals", worker, task)


def _refused(name: str, worker: Worker, task: Task) -> Check:
    try:
        worker.ask(Load(task, launch_measured=False), Loaded, LOAD_TIMEOUT_S)
    except WorkerError as error:
        good = not error.gone and error.kind == "unsupported"
        why = "" if good else f" ({error.kind}{', and its worker is gone' if error.gone else ''})"
        return Check(name, "passed" if good else "failed", error.message + why)
    return Check(name, "failed", "it loaded it")


def _recovers(name: str, worker: Worker, task: Task) -> Check:
    try:
        worker.ask(Load(task, launch_measured=False), Loaded, LOAD_TIMEOUT_S)
    except WorkerError as error:
        return Check(name, "failed", error.message)
    return Check(name, "passed", "it loads the model again")


def _frees(where: str, worker: Worker, task: Task, model: str) -> Check:
    """Load a model again and again; each time the one before must go."""
    name = f"{where}: it frees what it loaded before"
    rss: list[int] = []
    try:
        for number in range(2 + LOADS):
            # The same task would not be loaded again; this differs in what the windows are called alone.
            again = msgspec.structs.replace(task, scenario=("throughput", "latency")[number % 2])
            worker.ask(Load(again, launch_measured=True), Loaded, LOAD_TIMEOUT_S)
            memory = worker.ask(Probe(installed=False), Probed, PROBE_TIMEOUT_S).memory
            rss.append(memory.rss_bytes if isinstance(memory.rss_bytes, int) else 0)
    except WorkerError as error:
        return Check(name, "failed", error.message)
    grown, weights = rss[-1] - rss[1], 4 * models.get(model).parameter_count
    said = f"{grown / 1e6:+.0f} MB after {LOADS} more loads of a model with {weights / 1e6:.0f} MB of weights"
    return Check(name, "passed" if grown <= GROWTH_BYTES + weights // 10 else "failed", said)
