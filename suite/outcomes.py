"""What came of a launch: its record, and its worker while it lives."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from suite.conversion import convert
from suite.launchers.worker import Worker, WorkerError
from suite.records.schema import Arm, Case, Failure, Launch, Window


class Outcome(msgspec.Struct):
    """What came of one launch: its record, and its worker where it lives."""

    arm: Arm
    case: Case
    launch: Launch
    worker: Worker | None = None
    answered: Window | None = None
    """The calls whose outputs were verified, timed."""


def utc_now() -> str:
    """Return the time in UTC, ISO 8601, to the second."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fail(outcome: Outcome, stage: str, error: WorkerError) -> None:
    """Note a failure; end the worker, since after a failed step its state is unknown."""
    outcome.launch = msgspec.structs.replace(outcome.launch, failure=failure(stage, error))
    if outcome.worker is not None:
        outcome.worker.stop()
        outcome.worker = None


def failure(stage: str, error: WorkerError) -> Failure:
    """Return a worker's error as the record keeps it."""
    return convert({"stage": stage, "kind": error.kind, "message": error.message, "detail": error.detail}, Failure)


def stop(outcomes: Sequence[Outcome]) -> None:
    """End every worker that still lives: all are asked first, since frameworks take their time."""
    for outcome in outcomes:
        if outcome.worker is not None:
            outcome.worker.dismiss()
    for outcome in outcomes:
        if outcome.worker is not None:
            outcome.worker.stop()
            outcome.worker = None
