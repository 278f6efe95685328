"""The outcome of a launch: its record, and its worker while that is alive."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from suite.launchers.worker import Worker, WorkerError
from suite.record.schema import Arm, Case, Failure, Launch, Window
from suite.safety.conversion import convert


class Outcome(msgspec.Struct):
    """Outcome of one launch: its record, and its worker while that is alive."""

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
    """Record a failure; end the worker, since after a failed step its state is unknown.

    Parameters
    ----------
    outcome
        Its launch gets the failure.
    stage
        Step of the launch that failed, as `suite.record.schema.Failure` names it.
    error
        What the worker reported, or why it was ended.
    """
    outcome.launch = msgspec.structs.replace(outcome.launch, failure=failure(stage, error))
    if outcome.worker is not None:
        outcome.worker.stop()
        outcome.worker = None


def failure(stage: str, error: WorkerError) -> Failure:
    """Return a worker's error as the record keeps it.

    Parameters
    ----------
    stage, error
        As in `fail`.
    """
    return convert({"stage": stage, "kind": error.kind, "message": error.message, "detail": error.detail}, Failure)


def end_workers(outcomes: Sequence[Outcome]) -> None:
    """End every worker that is still alive: all are asked first, since frameworks take their time."""
    for outcome in outcomes:
        if outcome.worker is not None:
            outcome.worker.dismiss()
    for outcome in outcomes:
        if outcome.worker is not None:
            outcome.worker.stop()
            outcome.worker = None
