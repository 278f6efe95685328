"""Profile one result: the same images, pinning and loading as `bench`, in a launch of its own."""

import msgspec

from levelfield.backends.info import TraceFormat
from levelfield.errors import LevelfieldError
from levelfield.launchers.protocol import Launcher
from levelfield.launchers.worker import WorkerError
from levelfield.record.schema import Image
from levelfield.run.explain.request import ExplainRequest
from levelfield.schedule import scratch
from levelfield.schedule.launches import bring_up
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import RunResources
from levelfield.worker.messages import Profile, Profiled

REQUEST = Profile(window_ns=500_000_000, min_calls=5, max_calls=200, rewarm_ns=200_000_000)
TIMEOUT_S = 600.0
"""What is compiled may be compiled once more, and a trace of two hundred calls is read."""


class Explained(msgspec.Struct, frozen=True):
    """Profile of one result."""

    id: str
    version: str
    """The framework's."""
    image: Image
    profiled: Profiled


def explain(
    request: ExplainRequest, launcher: Launcher, listener: ProgressListener, trace: TraceFormat | None = None
) -> Explained:
    """Launch a worker, load as `bench` does, and profile.

    `trace`: format in which the profiler's own timeline is kept too; None: it is not. Raises LevelfieldError: it could
    not be launched, loaded or profiled; the message gives the reason.
    """
    resources = prepare(request.plan, launcher, listener, judged=False)
    try:
        listener.say(f"loading {request.id}")
        (outcome,) = bring_up(resources, request.case, [request.arm], verify=False, launch_measured=False)
        try:
            listener.say(f"profiling {request.id}")
            profiled = _profiled(request.id, outcome, trace)
        finally:
            end_workers([outcome])
        return Explained(request.id, outcome.launch.framework_version or "", resources.image(request.arm), profiled)
    finally:
        scratch.remove(resources.caches)


def profile_pairs(
    old: ExplainRequest, new: ExplainRequest, resources: RunResources, listener: ProgressListener, *, launches: int
) -> list[tuple[Profiled, Profiled]]:
    """Profile two arms of a case in turns, each time in fresh launches.

    Raises LevelfieldError: one of them could not be launched, loaded or profiled.
    """
    found: list[tuple[Profiled, Profiled]] = []
    for number in range(launches):
        pair: dict[str, Profiled] = {}
        for request in (old, new) if number % 2 == 0 else (new, old):
            listener.say(f"profiling {request.id}, launch {number + 1} of {launches}")
            (outcome,) = bring_up(resources, request.case, [request.arm], verify=False, launch_measured=False)
            try:
                pair[request.arm.id] = _profiled(request.id, outcome)
            finally:
                end_workers([outcome])
        found.append((pair[old.arm.id], pair[new.arm.id]))
    return found


def _profiled(result: str, outcome: Outcome, trace: TraceFormat | None = None) -> Profiled:
    failure = outcome.launch.failure
    if outcome.worker is None:
        why = failure.message if failure is not None else "its worker is gone."
        raise LevelfieldError(f"{result} could not be loaded: {why}", fix="`levelfield doctor` looks at this machine.")
    try:
        return outcome.worker.ask(msgspec.structs.replace(REQUEST, trace=trace), Profiled, TIMEOUT_S)
    except WorkerError as error:
        raise LevelfieldError(f"{result} could not be profiled: {error.message}") from error
