"""Compute one result's answer in fresh workers once more, and digest what every layer puts out."""

import hashlib

from suite.errors import LevelfieldError
from suite.history.environment import hardware
from suite.launchers.protocol import Launcher
from suite.launchers.worker import Worker, WorkerError
from suite.machine.fingerprint import fingerprint
from suite.record import layers as record
from suite.run.explain.request import ExplainRequest
from suite.run.start import tool_sha256
from suite.schedule import scratch
from suite.schedule.launches import bring_up
from suite.schedule.listener import ProgressListener
from suite.schedule.outcomes import Outcome, end_workers, utc_now
from suite.schedule.output_verification import VERIFY_TIMEOUT_S, verify_count
from suite.schedule.preparation import prepare
from suite.schedule.resources import RunResources
from suite.version import __version__
from suite.worker.messages import ComputeLayers, LayersComputed, Verified, Verify

LAUNCHES = 2
"""Fresh workers, at the least: an answer that is wrong once and right once is another fault."""
TIMEOUT_S = 900.0


def trace(
    request: ExplainRequest,
    launcher: Launcher,
    listener: ProgressListener,
    *,
    launches: int = LAUNCHES,
) -> record.Layers:
    """Launch workers one after the other, compute the whole model in each, then its layers.

    Parameters
    ----------
    request
        The result whose answer is computed.
    launcher
        How to run workers.
    listener
        Display of the progress.
    launches
        How many workers.

    Raises
    ------
    LevelfieldError
        A worker could not be launched or loaded, its backend cannot show layers, or workers differ in their layers'
        names or their data.
    """
    resources = prepare(request.plan, launcher, listener, judged=False)
    try:
        return _traced(request, resources, listener, launches)
    finally:
        scratch.remove(resources.caches)


def _traced(
    request: ExplainRequest, resources: RunResources, listener: ProgressListener, launches: int
) -> record.Layers:
    case, arm = request.case, request.arm
    count = verify_count(case)
    found: list[record.Launch] = []
    how, data, version = "", frozenset[str](), ""
    for number in range(launches):
        listener.say(f"computing {request.id}, launch {number + 1} of {launches}")
        (outcome,) = bring_up(resources, case, [arm], verify=False, launch_measured=False)
        try:
            launch, how = _launch(request.id, _worker(request.id, outcome), count)
        finally:
            end_workers([outcome])
        found.append(launch)
        data = frozenset(filter(None, (outcome.launch.weights_sha256, outcome.launch.inputs_sha256)))
        version = outcome.launch.framework_version or ""
    return record.Layers(
        schema=record.SCHEMA,
        tool_version=__version__,
        tool_sha256=tool_sha256(),
        written=utc_now(),
        arm=arm.id,
        version=version,
        model=case.question,
        precision=case.precision,
        batch=case.batch,
        threads=case.threads,
        device=case.device,
        items=count,
        image=resources.image(arm),
        data=tuple(sorted(data)),
        hardware=hardware(fingerprint(())),
        how=how,
        launches=tuple(found),
    )


def _worker(result: str, outcome: Outcome) -> Worker:
    failure = outcome.launch.failure
    if outcome.worker is None:
        why = failure.message if failure is not None else "its worker is gone."
        raise LevelfieldError(f"{result} could not be loaded: {why}", fix="`levelfield doctor` looks at this machine.")
    return outcome.worker


def _launch(result: str, worker: Worker, count: int) -> tuple[record.Launch, str]:
    try:
        whole = worker.ask(Verify(count, ask_computed=False), Verified, VERIFY_TIMEOUT_S)
        computed = worker.ask(ComputeLayers(count), LayersComputed, TIMEOUT_S)
    except WorkerError as error:
        raise LevelfieldError(f"The layers of {result} could not be computed: {error.message}") from error
    launch = record.Launch(
        output_sha256=hashlib.sha256(whole.output).hexdigest(),
        layered_sha256=computed.output_sha256,
        layers=tuple(record.Layer(each.name, each.sha256) for each in computed.layers),
    )
    return launch, computed.how
