"""Profile one result: the same images, pinning and loading as `bench`, in a launch of its own."""

import msgspec

from suite import scratch
from suite.errors import LevelfieldError
from suite.explaining.asked import Asked
from suite.launchers.protocol import Launcher
from suite.launchers.worker import WorkerError
from suite.launches import bring_up
from suite.outcomes import Outcome, stop
from suite.preparation import prepare
from suite.records.schema import Image
from suite.watching import Watcher
from suite.worker.messages import Profile, Profiled

REQUEST = Profile(window_ns=500_000_000, min_calls=5, max_calls=200, rewarm_ns=200_000_000)
TIMEOUT_S = 600.0
"""What is compiled may be compiled once more, and a trace of two hundred calls is read."""


class Explained(msgspec.Struct, frozen=True):
    """What a profiler said of one result."""

    id: str
    version: str
    """The framework's."""
    image: Image
    profiled: Profiled


def explain(asked: Asked, launcher: Launcher, watcher: Watcher) -> Explained:
    """Launch, load as `bench` does, and profile.

    Raises
    ------
    LevelfieldError
        It could not be launched, loaded or profiled; the reason is told.
    """
    site = prepare(asked.plan, launcher, watcher, judged=False)
    try:
        watcher.say(f"loading {asked.id}")
        (outcome,) = bring_up(site, asked.case, [asked.arm], verify=False, alone=False)
        try:
            watcher.say(f"profiling {asked.id}")
            profiled = _profiled(asked, outcome)
        finally:
            stop([outcome])
        return Explained(asked.id, outcome.launch.framework_version or "", site.image(asked.arm), profiled)
    finally:
        scratch.remove(site.caches)


def _profiled(asked: Asked, outcome: Outcome) -> Profiled:
    failure = outcome.launch.failure
    if outcome.worker is None:
        why = failure.message if failure is not None else "its worker is gone."
        raise LevelfieldError(
            f"{asked.id} could not be loaded: {why}", fix="`levelfield doctor` looks at this machine."
        )
    try:
        return outcome.worker.ask(REQUEST, Profiled, TIMEOUT_S)
    except WorkerError as error:
        raise LevelfieldError(f"{asked.id} could not be profiled: {error.message}") from error
