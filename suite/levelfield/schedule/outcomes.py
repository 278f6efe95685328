"""The outcome of a launch: its record, and its worker while that is alive."""

import contextlib
import datetime as dt
import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from levelfield.errors import LevelfieldError, with_bare_file_names
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.plan import arms as arm_names
from levelfield.record.schema import Arm, Case, Failure, Launch, Window
from levelfield.untrusted import convert
from levelfield.worker.messages import Reply, Request

Stamps: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""Of each file: its name, inode, size in bytes, and when it was changed last, in nanoseconds."""


class Outcome(msgspec.Struct):
    """Outcome of one launch: its record, and its worker while that is alive."""

    arm: Arm
    case: Case
    launch: Launch
    worker: Worker | None = None
    answered: Window | None = None
    """The calls whose outputs were verified, timed."""
    hashed: Stamps | None = None
    """State of the files that its worker hashed; None: an earlier launch of the arm had hashed them."""

    def note(self, **fields: Any) -> None:  # noqa: ANN401  (fields of a launch)
        """Add what became known to the launch's record."""
        self.launch = msgspec.structs.replace(self.launch, **fields)


_T = TypeVar("_T", bound=Reply)


def ask(outcome: Outcome, stage: str, request: Request, kind: type[_T], timeout_s: float) -> _T | None:
    """Ask a worker something; one that cannot answer (none is returned) is ended, and its launch has the failure."""
    if outcome.worker is None:
        return None
    try:
        return outcome.worker.ask(request, kind, timeout_s)
    except WorkerError as error:
        fail(outcome, stage, error)
        return None


def utc_now() -> str:
    """Return the time in UTC, ISO 8601, to the second."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fail(outcome: Outcome, stage: str, error: WorkerError) -> None:
    """Record a failure; end the worker, since after a failed step its state is unknown."""
    found = failure(stage, error)
    outcome.note(failure=msgspec.structs.replace(found, message=found.message + _what_loads(outcome.arm, error)))
    if outcome.worker is not None:
        outcome.worker.stop()
        outcome.worker = None


def _what_loads(arm: Arm, error: WorkerError) -> str:
    """Name the arm that loads what this one does not; empty where none is known, or a worker made it up."""
    if not error.settings:
        return ""
    other = msgspec.structs.replace(arm, settings={**arm.settings, **error.settings}, ordinal=1, inject="").id
    try:
        arm_names.parse(other)
    except LevelfieldError:
        return ""
    return f" It loads with other settings: measure {other}."


def failure(stage: str, error: WorkerError) -> Failure:
    message, detail = with_bare_file_names(error.message), with_bare_file_names(error.detail)
    return convert({"stage": stage, "kind": error.kind, "message": message, "detail": detail}, Failure)


def end_workers(outcomes: Sequence[Outcome]) -> None:
    """End every worker that is still alive: all are asked first, since frameworks take their time."""
    for outcome in outcomes:
        if outcome.worker is not None:
            outcome.worker.dismiss()
    for outcome in outcomes:
        if outcome.worker is not None:
            outcome.worker.stop()
            outcome.worker = None


@contextlib.contextmanager
def ended_on_error(outcomes: Sequence[Outcome]) -> Iterator[None]:
    """End all workers where an error or an interrupt leaves the block."""
    try:
        yield
    except BaseException:
        end_workers(outcomes)
        raise


def shuffled(arms: Sequence[Arm], seed: int) -> list[Arm]:
    """Return arms in random order: a function of their ids and the seed alone."""
    order = sorted(arms, key=lambda arm: arm.id)
    random.Random(seed).shuffle(order)  # noqa: S311  (a schedule, not a secret)
    return order


JOIN_S = 0.2
"""How long the waiting thread sleeps before it looks for an interrupt again."""


def run_jobs(jobs: Sequence[Callable[[], None]], *, at_once: int) -> None:
    """Run jobs in threads, in their order; the first error or interrupt ends the wait.

    The threads are daemons: after an error or Ctrl-C no job that is under way is waited for, and it ends with the
    process. The name of each begins with that of the thread that waits for it, and a slash.

    Raises BaseException: what a job raised first.
    """
    waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    problems: list[BaseException] = []

    def work() -> None:
        try:
            while not problems:
                waiting.get_nowait()()
        except queue.Empty:
            return
        except BaseException as problem:  # noqa: BLE001  (handed to the waiting thread)
            problems.append(problem)

    name = threading.current_thread().name
    count = min(at_once, len(jobs))
    threads = [threading.Thread(target=work, name=f"{name}/{number}", daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    while not problems and any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(JOIN_S)
            if problems:
                break
    if problems:
        raise problems[0]
