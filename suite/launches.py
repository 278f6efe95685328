"""Bring workers up: start, load, verify against the reference; several side by side, each failure its own."""

import datetime as dt
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from suite.artifacts import Artifacts, Onnx
from suite.backends import registry
from suite.errors import LevelfieldError
from suite.launchers.protocol import READY_TIMEOUT_S, Inside, Launcher, LaunchSpec
from suite.launchers.worker import Worker, WorkerError
from suite.records.schema import Absent, Arm, Case, Failure, Image, Launch, Library, Memory, Parity, Startup
from suite.worker.messages import Load, Loaded, Probe, Probed, Task, Verified, Verify
from suite.zoo import parity

LOAD_TIMEOUT_S = 600.0
"""The slowest honest load measured (seven compilers side by side on two cores) took about a minute."""
VERIFY_TIMEOUT_S = 300.0
PROBE_TIMEOUT_S = 60.0
ITEM_BYTES = 4
"""A float32."""
VERIFY_INPUTS = 4
"""Inputs compared at the least: the centred error needs several."""


class Site(msgspec.Struct, frozen=True):
    """Where a run's workers live, and what they are given."""

    launcher: Launcher
    images: dict[tuple[str, str, str | None], Image]
    """By name, variant and version."""
    artifacts: Artifacts
    onnx: dict[tuple[str, str, int], Onnx]
    """By model, precision and batch."""
    weights_sha256: dict[str, str]
    cpus: tuple[int, ...]
    memory_bytes: int
    caches: Path
    """Compile caches of this run."""

    def image(self, arm: Arm) -> Image:
        return self.images[arm.image, arm.variant, arm.version]


class Outcome(msgspec.Struct):
    """What came of one launch: its record, and its worker where it lives."""

    arm: Arm
    launch: Launch
    worker: Worker | None = None


def utc_now() -> str:
    """Return the time in UTC, ISO 8601, to the second."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cache_folder(site: Site, case: Case, arm: Arm) -> Path:
    """Return the compile cache of an arm and model: shared by all its launches in this run."""
    name = "".join(character if character.isalnum() or character in "-._" else "_" for character in arm.id)
    return site.caches / f"{name}-{case.model}-{case.precision}"


def verify_count(batch: int) -> int:
    """Return how many inputs are compared: whole batches, and `VERIFY_INPUTS` at the least."""
    return -(-max(batch, VERIFY_INPUTS) // batch) * batch


def bring_up(site: Site, case: Case, arms: Sequence[Arm], *, verify: bool = True) -> list[Outcome]:
    """Launch every arm, load side by side, then verify one after the other.

    Returns
    -------
    list of Outcome
        In the order of `arms`; one without a worker has a failure in its launch.

    Raises
    ------
    LevelfieldError
        When the engine is gone, or two workers hold different weights or inputs.
    """
    outcomes: list[Outcome] = []
    try:
        for arm in arms:
            outcomes.append(_start(site, case, arm))  # noqa: PERF401  (what is up when one fails must be stopped)
        for outcome in outcomes:
            _begin_load(site, case, outcome)
        for outcome in outcomes:
            _finish_load(outcome)
        _refuse_disagreement(site, case, outcomes)
        if verify:
            for outcome in outcomes:
                verify_outcome(site, case, outcome)
    except BaseException:
        stop(outcomes)
        raise
    return outcomes


def stop(outcomes: Sequence[Outcome]) -> None:
    """End every worker that still lives."""
    for outcome in outcomes:
        if outcome.worker is not None:
            outcome.worker.stop()
            outcome.worker = None


def _spec(site: Site, case: Case, arm: Arm) -> LaunchSpec:
    return LaunchSpec(
        name=f"{arm.id}/{case.id}",
        image=site.image(arm),
        threads=case.threads,
        cpus=site.cpus,
        memory_bytes=site.memory_bytes,
        artifacts=site.artifacts.root,
        cache=cache_folder(site, case, arm),
    )


def _start(site: Site, case: Case, arm: Arm) -> Outcome:
    spec = _spec(site, case, arm)
    launch = Launch(arm=arm.id, started=utc_now())
    if spec.cache is not None:
        spec.cache.mkdir(parents=True, exist_ok=True)
        launch = msgspec.structs.replace(launch, cache_warm=any(spec.cache.iterdir()))
    outcome = Outcome(arm, launch)
    try:
        outcome.worker = site.launcher.launch(spec)
    except WorkerError as error:
        fail(outcome, "launch", error)
    return outcome


def fail(outcome: Outcome, stage: str, error: WorkerError) -> None:
    """Note a failure; end the worker, since after a failed step its state is unknown."""
    outcome.launch = msgspec.structs.replace(outcome.launch, failure=failure(stage, error))
    if outcome.worker is not None:
        outcome.worker.stop()
        outcome.worker = None


def failure(stage: str, error: WorkerError) -> Failure:
    """Return a worker's error as the record keeps it."""
    return msgspec.convert(
        {"stage": stage, "kind": error.kind, "message": error.message, "detail": error.detail}, Failure
    )


def _begin_load(site: Site, case: Case, outcome: Outcome) -> None:
    if outcome.worker is None:
        return
    try:
        outcome.worker.await_ready(READY_TIMEOUT_S)
    except WorkerError as error:
        fail(outcome, "launch", error)
        return
    inside = site.launcher.inside(_spec(site, case, outcome.arm))
    try:
        outcome.worker.post(Load(task_for(site, case, outcome.arm, inside)))
    except WorkerError as error:
        fail(outcome, "load", error)


def task_for(site: Site, case: Case, arm: Arm, inside: Inside) -> Task:
    """Return what a worker is told to load."""
    reads = registry.get(arm.backend).reads
    onnx = site.onnx[case.model, case.precision, case.batch] if reads == "onnx" else None
    weights = f"{inside.artifacts}/{site.artifacts.weights(case.model)}" if reads == "native" else None
    return Task(
        backend=arm.backend,
        model=case.model,
        batch=case.batch,
        threads=case.threads,
        scenario=case.scenario,
        precision=case.precision,
        device=case.device,
        weights_path=weights,
        onnx_path=f"{inside.artifacts}/{onnx.path}" if onnx else None,
        onnx_sha256=onnx.sha256 if onnx else None,
        cache_path=inside.cache,
        settings=arm.settings,
    )


def _finish_load(outcome: Outcome) -> None:
    if outcome.worker is None:
        return
    try:
        loaded = outcome.worker.collect(Loaded, LOAD_TIMEOUT_S)
    except WorkerError as error:
        fail(outcome, "load", error)
        return
    outcome.launch = msgspec.structs.replace(
        outcome.launch,
        startup=Startup(
            start_ns=outcome.worker.start_ns,
            import_ns=loaded.import_ns,
            weights_ns=loaded.weights_ns,
            load_ns=loaded.load_ns,
            first_call_ns=loaded.first_call_ns,
        ),
        weights_sha256=loaded.weights_sha256,
        inputs_sha256=loaded.inputs_sha256,
        framework_version=loaded.version,
        settings=loaded.settings,
    )


def _refuse_disagreement(site: Site, case: Case, outcomes: Sequence[Outcome]) -> None:
    inputs_sha256 = site.artifacts.inputs_sha256(case.model, case.batch)
    for outcome in outcomes:
        launch = outcome.launch
        if outcome.worker is None:
            continue
        if registry.get(outcome.arm.backend).reads == "onnx":
            launch = outcome.launch = msgspec.structs.replace(
                launch, onnx_sha256=site.onnx[case.model, case.precision, case.batch].sha256
            )
        elif launch.weights_sha256 != site.weights_sha256[case.model]:
            raise _disagreement(outcome.arm, case, "weights", launch.weights_sha256)
        if launch.inputs_sha256 != inputs_sha256:
            raise _disagreement(outcome.arm, case, "inputs", launch.inputs_sha256)


def _disagreement(arm: Arm, case: Case, what: str, found: str) -> LevelfieldError:
    return LevelfieldError(
        f"{arm.id} holds other {what} for {case.model} than this run ({found[:12]}…), so nothing can be compared.",
        fix="Run `levelfield clean` and start again; if it stays, that NumPy makes other bits: please report it.",
    )


def verify_outcome(site: Site, case: Case, outcome: Outcome) -> None:
    """Compare a worker's output with the reference; a worker that cannot answer is ended."""
    if outcome.worker is None:
        return
    count = verify_count(case.batch)
    try:
        verified = outcome.worker.ask(Verify(count), Verified, VERIFY_TIMEOUT_S)
        outcome.launch = msgspec.structs.replace(
            outcome.launch, parity=judge(verified, site.artifacts.reference(case.model, count), case.precision)
        )
    except WorkerError as error:
        fail(outcome, "verify", error)


def judge(verified: Verified, reference: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", precision: str) -> Parity:
    """Compare a worker's outputs with the reference; what it says of their shape is not trusted."""
    import hashlib

    whole = len(verified.output) // ITEM_BYTES * ITEM_BYTES
    flat = np.frombuffer(verified.output[:whole], dtype="<f4")
    fits = math.prod(verified.shape) == flat.size and min(verified.shape, default=1) >= 0
    output = flat.reshape(verified.shape) if fits and whole == len(verified.output) else flat
    judgement = parity.judge(output, reference, precision)
    errors = judgement.errors
    finite = errors is not None and errors.finite
    absent = Absent(judgement.reason or "not comparable")
    return Parity(
        equal=judgement.equal,
        relative_error=errors.relative_l2 if errors and finite else absent,
        centred_error=(
            errors.centred_relative_l2 if errors and finite and errors.centred_relative_l2 is not None else absent
        ),
        max_abs_error=errors.max_abs if errors and finite else absent,
        tolerance=judgement.tolerance,
        inputs=len(reference),
        projection=parity.project(output) if finite else (),
        output_sha256=hashlib.sha256(verified.output).hexdigest(),
        reason=judgement.reason,
    )


def probe(outcome: Outcome) -> Probed | None:
    """Ask a worker about itself, and keep memory, libraries and environment in its launch."""
    if outcome.worker is None:
        return None
    try:
        probed = outcome.worker.ask(Probe(), Probed, PROBE_TIMEOUT_S)
    except WorkerError as error:
        fail(outcome, "stop", error)
        return None
    outcome.launch = msgspec.structs.replace(
        outcome.launch,
        memory=Memory(peak_rss_bytes=probed.peak_rss_bytes, rss_bytes=probed.rss_bytes, source=probed.peak_source),
        libraries=tuple(Library(each.name, each.path, each.kind) for each in probed.libraries),
        environment=probed.environment,
    )
    return probed
