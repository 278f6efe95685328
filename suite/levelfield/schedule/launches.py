"""Bring workers up: start, load, verify against the reference; several at the same time, each failure its own."""

import functools
import math
import os
import random
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from levelfield.launchers.protocol import READY_TIMEOUT_S, LaunchSpec, WorkerPaths
from levelfield.launchers.worker import Worker, WorkerError, wait_for_answers
from levelfield.plan import CANARY, cpu_pinning
from levelfield.plan.decoding import call_of
from levelfield.plan.types import why_absent
from levelfield.prepare.own_model import store
from levelfield.record.schema import Absent, Arm, Case, Failure, Launch
from levelfield.schedule.listener import SAID_EVERY_S, ProgressListener, SilentListener
from levelfield.schedule.outcomes import Outcome, ask, end_workers, fail, run_jobs, utc_now
from levelfield.schedule.output_verification import verify_outputs
from levelfield.schedule.resources import RunResources, cache_folder, readable, task_for
from levelfield.worker import sources
from levelfield.worker.messages import Load, Loaded, Probe, Probed, Rotate, Rotated
from levelfield.zoo import decoding, inputs, models
from levelfield.zoo.decoding import Call
from levelfield.zoo.training import convergence, parity
from levelfield.zoo.weights import Arrays

LOAD_TIMEOUT_S = 600.0
"""The slowest honest load measured (seven compilers side by side on two cores) took about a minute."""
PROBE_TIMEOUT_S = 60.0
PADDING_BITS = 12


def bring_up(
    resources: RunResources,
    case: Case,
    arms: Sequence[Arm],
    *,
    verify: bool = True,
    launch_measured: bool = True,
    running: Mapping[str, Outcome] = {},
    expected_ns: Mapping[str, float] = {},
    seed: int | None = None,
    listener: ProgressListener = SilentListener(),  # noqa: B008 (it keeps nothing)
) -> list[Outcome]:
    """Launch every arm, load as many at once as there are CPUs, then verify one after the other.

    `seed`: from which the padding of each launch's environment is drawn; None: there is none. `listener`: is told every
    few seconds what loads.

    Raises LevelfieldError: when the engine is gone.
    """
    outcomes: list[Outcome] = []
    try:
        for arm in arms:
            earlier = running.get(arm.id)
            if earlier is not None and earlier.worker is not None:
                outcomes.append(_reuse(resources, case, earlier))
            else:
                outcomes.append(_to_launch(resources, case, arm, 0 if seed is None else padding_of(arm, seed)))
        _load_all(resources, case, outcomes, expected_ns, listener, launch_measured=launch_measured)
        _end_disagreeing(resources, case, outcomes)
        if verify:
            with resources.watch.phase("verifying"):
                for outcome in outcomes:
                    if outcome.launch.parity is None:
                        verify_outputs(resources, case, outcome)
    except BaseException:
        end_workers([*outcomes, *running.values()])
        raise
    return outcomes


def padding_of(arm: Arm, seed: int) -> int:
    """Return a random length of an environment variable that nothing reads, bytes: no result comes from one layout.

    The kernel puts the environment at the top of the stack, and Python copies it to the heap: its length decides where
    both lie within a page, and that alone can reverse a comparison. One layout in every launch is a bias that no number
    of launches averages out; drawn anew for each, it is a part of the variance between launches.

    Notes
    -----
    Lengths are 0 to 4095 bytes: one page, since a longer one moves nothing to another place within a page. The kernel's
    own randomisation moves the stack in steps of 16 bytes and the heap by whole pages; padding of more than 512 bytes,
    which Python takes from the C library's heap, also moves the first objects there.

    References
    ----------
    T. Mytkowicz, A. Diwan, M. Hauswirth, P. F. Sweeney (2009). Producing wrong data without doing anything obviously
    wrong! ASPLOS XIV, 265-276.
    C. Curtsinger, E. D. Berger (2013). STABILIZER: statistically sound performance evaluation. ASPLOS XVIII, 219-228.
    """
    return random.Random(f"padding/{seed}/{arm.id}").getrandbits(PADDING_BITS)  # noqa: S311


def _spec(resources: RunResources, case: Case, arm: Arm, padding_bytes: int = 0) -> LaunchSpec:
    cpus = cpu_pinning.pinned(case.threads * case.processes, resources.cpus, resources.topology)
    return LaunchSpec(
        name=f"{arm.id}/{case.id}",
        image=resources.image(arm),
        threads=case.threads,
        cpus=cpu_pinning.in_shares(cpus, case.processes, resources.topology),
        memory_nodes=resources.memory_nodes(cpus),
        memory_bytes=resources.memory_bytes,
        artifacts=resources.artifacts.root,
        reads=readable(resources, case),
        cache=cache_folder(resources, case, arm),
        gpu=resources.gpu if case.device != "cpu" else "",
        padding_bytes=padding_bytes,
    )


def _to_launch(resources: RunResources, case: Case, arm: Arm, padding_bytes: int) -> Outcome:
    """Return an outcome to come, with a folder for its compile cache; or what cannot come, with the reason."""
    reason = why_absent(case, arm) or resources.why_no_file(case, arm)
    if case.trains and not reason:
        reason = parity.why_not(case.model, case.precision)
    if reason:
        absent = Failure(stage="load", kind="unsupported", message=reason)
        return Outcome(arm, case, Launch(arm=arm.id, started=utc_now(), failure=absent))
    cache = cache_folder(resources, case, arm)
    cache.mkdir(parents=True, exist_ok=True)
    cache.chmod(0o700)  # it may hold a user's weights, and an earlier launch may have taken all rights away
    os.utime(cache)  # it is in use
    launch = Launch(arm=arm.id, started=utc_now(), environment_padding_bytes=padding_bytes, cache_warm=_is_warm(cache))
    return Outcome(arm, case, launch)


def _start(resources: RunResources, outcome: Outcome) -> None:
    """Launch a worker and wait for its first line."""
    outcome.note(started=utc_now())
    spec = _spec(resources, outcome.case, outcome.arm, outcome.launch.environment_padding_bytes or 0)
    try:
        outcome.worker = resources.launcher_of(outcome.arm).launch(spec)
        held = resources.held(outcome.arm)
        outcome.worker.count_reports(functools.partial(resources.amounts.excess, outcome.arm.id, held=held))
        outcome.worker.await_ready(READY_TIMEOUT_S)
    except WorkerError as error:
        fail(outcome, "launch", error)


def paths_of(resources: RunResources, outcome: Outcome) -> WorkerPaths:
    """Return the folders of a run under the names that a worker sees them by."""
    return resources.launcher_of(outcome.arm).worker_paths(_spec(resources, outcome.case, outcome.arm))


def _reuse(resources: RunResources, case: Case, earlier: Outcome) -> Outcome:
    """Let a worker that has answered another case answer this one too: its launch is the same, its record is not."""
    launch = Launch(
        arm=earlier.launch.arm,
        started=earlier.launch.started,
        environment_padding_bytes=earlier.launch.environment_padding_bytes,
        served=(*earlier.launch.served, earlier.case.id),
        cache_warm=earlier.launch.cache_warm and _is_warm(cache_folder(resources, case, earlier.arm)),
    )
    worker_paths = resources.launcher_of(earlier.arm).worker_paths(_spec(resources, case, earlier.arm))
    if task_for(resources, earlier.case, earlier.arm, worker_paths) != task_for(
        resources, case, earlier.arm, worker_paths
    ):
        return Outcome(earlier.arm, case, launch, earlier.worker)
    launch = msgspec.structs.replace(launch, parity=earlier.launch.parity, computed=earlier.launch.computed)
    resources.remember_computed(case, earlier.arm, launch.computed)
    return Outcome(earlier.arm, case, launch, earlier.worker, earlier.answered)


def _is_warm(cache: Path) -> bool:
    return any(cache.iterdir())


def _load_all(
    resources: RunResources,
    case: Case,
    outcomes: Sequence[Outcome],
    expected_ns: Mapping[str, float],
    listener: ProgressListener,
    *,
    launch_measured: bool,
) -> None:
    """Keep as many loads going as there are CPUs, the longest first; loads are mostly one thread's work."""
    queue = sorted(outcomes, key=lambda outcome: expected_ns.get(outcome.arm.id, math.inf), reverse=True)
    loading: dict[Worker, tuple[Outcome, float]] = {}
    while queue or loading:
        while queue and len(loading) < case.threads:
            outcome = queue.pop(0)
            if not outcome.launch.served and outcome.launch.failure is None:
                _start(resources, outcome)
            _begin_load(resources, case, outcome, launch_measured=launch_measured)
            if outcome.worker is not None:
                loading[outcome.worker] = outcome, time.monotonic() + LOAD_TIMEOUT_S
        if not loading:
            continue
        listener.progress("loading " + ", ".join(outcome.arm.id for outcome, _ in loading.values()), {})
        first = min(loading, key=lambda each: loading[each][1])
        deadline = loading[first][1]
        answered = wait_for_answers(list(loading), min(deadline, time.monotonic() + SAID_EVERY_S))
        for worker in answered:
            _finish_load(loading.pop(worker)[0])
        if not answered and time.monotonic() >= deadline:
            fail(loading.pop(first)[0], "load", first.overdue(LOAD_TIMEOUT_S))


def _begin_load(resources: RunResources, case: Case, outcome: Outcome, *, launch_measured: bool) -> None:
    if outcome.worker is None:
        return
    worker_paths = paths_of(resources, outcome)
    try:
        task = task_for(resources, case, outcome.arm, worker_paths)
        stamps = resources.stamps(case, outcome.arm)
        outcome.hashed = stamps if launch_measured or not resources.is_hashed(case, outcome.arm, stamps) else None
        outcome.worker.post(Load(task, launch_measured, outcome.hashed is not None))
    except WorkerError as error:
        fail(outcome, "load", error)


def _finish_load(outcome: Outcome) -> None:
    if outcome.worker is None:
        return
    try:
        loaded = outcome.worker.collect(Loaded, LOAD_TIMEOUT_S)
    except WorkerError as error:
        fail(outcome, "load", error)
        return
    if outcome.case.model != CANARY and (otherwise := outcome.case.otherwise(loaded.settings)):
        fail(outcome, "load", WorkerError("protocol", f"{outcome.arm.id} loaded to compute {otherwise}."))
        return
    if outcome.case.definition.sample == "cold start" and isinstance(loaded.startup.first_call_ns, Absent):
        fail(outcome, "load", WorkerError("protocol", f"{outcome.arm.id} did not time its first call."))
        return
    start_ns = 0 if outcome.launch.served else outcome.worker.start_ns
    outcome.note(
        startup=msgspec.structs.replace(loaded.startup, start_ns=start_ns),
        weights_sha256=loaded.weights_sha256,
        inputs_sha256=loaded.inputs_sha256,
        framework_version=loaded.version,
        settings=loaded.settings,
    )


def _end_disagreeing(resources: RunResources, case: Case, outcomes: Sequence[Outcome]) -> None:
    if all(outcome.worker is None for outcome in outcomes):
        return  # nobody holds anything, perhaps because what was to be held is gone
    weights_sha256 = resources.weights_sha256.get(case.model, "")
    if case.converges:
        weights_sha256, inputs_sha256 = convergence.loaded_sha256(resources.goal(case.model))
    elif (own := resources.own_of(case)) is not None:
        inputs_sha256 = own.inputs_sha256[case.batch]
    elif case.trains:
        inputs_sha256 = resources.artifacts.training_batch_sha256(case.model, case.batch)
    else:
        from_dataset = case.definition.from_dataset
        inputs_sha256 = resources.artifacts.inputs_sha256(
            case.model, case.batch, from_dataset=from_dataset, call=call_of(case)
        )
    for outcome in outcomes:
        launch = outcome.launch
        if outcome.worker is None:
            continue
        if (file := resources.file_of(case, outcome.arm)) is not None:
            outcome.note(onnx_sha256=file.sha256, weights_sha256="")
        elif not launch.weights_sha256 and outcome.hashed is None:
            outcome.note(weights_sha256=weights_sha256)
        elif not require_same(outcome, "weights", launch.weights_sha256, weights_sha256):
            continue
        if require_same(outcome, "inputs", launch.inputs_sha256, inputs_sha256):
            resources.remember_hashed(case, outcome.arm, outcome.hashed)


def require_same(outcome: Outcome, what: str, found: str, expected: str) -> bool:
    """Return whether a worker holds the weights or inputs of this run; one that does not is ended."""
    if found != expected:
        message = (
            f"{outcome.arm.id} holds other {what} for {outcome.case.model} than this run ({found[:12]}…), so nothing "
            "can be compared. Run `levelfield images clean` and start again; if it stays, that NumPy makes other bits: "
            "please report it."
        )
        fail(outcome, "load", WorkerError("protocol", message))
    return found == expected


def probe(outcome: Outcome, *, installed: bool = True) -> Probed | None:
    """Keep a worker's memory, libraries and environment in its launch; none: it did not answer."""
    probed = ask(outcome, "stop", Probe(installed=installed), Probed, PROBE_TIMEOUT_S)
    if probed is None:
        return None
    outcome.note(memory=probed.memory, libraries=probed.libraries, environment=probed.environment)
    return probed


TIMED_SETS = 4
"""Batches, unless they are large."""
FEWEST_SETS = 2
MOST_SETS_BYTES = 64 << 20
"""Of all batches together, unless two of them are more."""
ROTATE_TIMEOUT_S = 300.0


def sets_of(resources: RunResources, case: Case) -> int:
    """Return how many batches of inputs a case's timed calls take in turn.

    One where the calls choose no inputs, or must not: `data-pipeline` reads the next batch of a dataset in every call
    anyway; a network in Python has its inputs itself; a training step changes the weights, so that no call repeats
    another, and processes that train together need not agree on which batch comes next.
    """
    own, plain = resources.own_of(case), case.timed or case.definition.driven
    if not plain or case.trains or case.definition.from_dataset or (own is not None and own.model.function):
        return 1
    return max(FEWEST_SETS, min(TIMED_SETS, MOST_SETS_BYTES // max(1, _batch_bytes(resources, case))))


def rotate(resources: RunResources, case: Case, outcomes: Sequence[Outcome]) -> None:
    """Have every worker make the inputs of its timed calls, several at once; a worker that cannot is ended."""
    sets = sets_of(resources, case)
    if sets == 1:
        return
    _digest(resources, case, sets)  # made once, before several look for it

    def rotate_one(outcome: Outcome) -> None:
        rotated = ask(outcome, "load", Rotate(sets), Rotated, ROTATE_TIMEOUT_S)
        if rotated is None:
            return
        # What stays in a GPU's memory, and a decoder with one cache, has one: no call chooses its inputs.
        known = rotated.sets == sets or (rotated.sets == 1 and (case.definition.decodes or case.device != "cpu"))
        expected = _digest(resources, case, rotated.sets) if known else "of another number of batches"
        if require_same(outcome, "timed inputs", rotated.sha256, expected):
            outcome.note(timed_inputs=rotated.sets, timed_inputs_sha256=rotated.sha256)

    run_jobs([partial(rotate_one, outcome) for outcome in outcomes], at_once=case.threads)


def _batch_bytes(resources: RunResources, case: Case) -> int:
    own = resources.own_of(case)
    if own is not None:
        return sum(
            np.dtype(each.dtype).itemsize * math.prod(each.shape) * (case.batch if each.batched else 1)
            for each in own.model.inputs
        )
    tensors = models.get(case.model).inputs
    return case.batch * sum(np.dtype(tensor.dtype).itemsize * math.prod(tensor.shape) for tensor in tensors)


def _digest(resources: RunResources, case: Case, sets: int) -> str:
    own = resources.own_of(case)
    if own is None:
        return _zoo_digest(case.model, case.batch, sets, call_of(case))
    described = store.description(own.model, str(resources.artifacts.root))
    made = sources.rotation(lambda first: inputs.make_own(described, first, case.batch), sets=sets, batch=case.batch)
    return sources.rotation_digest(made)


@functools.cache
def _zoo_digest(model: str, batch: int, sets: int, call: Call | None) -> str:
    """Return the digest of a model's first batches; made once, since they are the same in every launch."""
    found = models.get(model)

    def make(first: int) -> Arrays:
        return inputs.make(found, first, batch) if call is None else decoding.inputs(found, call, first, batch)

    return sources.rotation_digest(sources.rotation(make, sets=sets, batch=batch))
