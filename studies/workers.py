"""Workers that a trial keeps alive itself, and one turn of one of them."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from levelfield.errors import LevelfieldError
from levelfield.launchers.worker import WorkerError
from levelfield.machine.quiet import wait_until_idle
from levelfield.machine.signals import Signals, difference
from levelfield.record.schema import Arm, Case, IdleWait, Noise, Window
from levelfield.schedule.launches import bring_up
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.preparation import canary_arm, canary_case
from levelfield.schedule.resources import RunResources
from levelfield.worker.messages import Measure, Measured

WINDOW_TIMEOUT_S = 300.0


class Turn(NamedTuple):
    """One window of one worker, and what the machine did meanwhile."""

    window: Window
    noise: Noise
    settling: IdleWait
    """The wait before it."""
    start_ns: int
    """When it was requested, by the monotonic clock."""
    wall_ns: int
    """Until it was answered: unrecorded calls and all."""


def launch(resources: RunResources, case: Case, arms: Sequence[Arm], *, launch_measured: bool = True) -> list[Outcome]:
    """Launch and verify all arms, or end them all."""
    outcomes = bring_up(resources, case, arms, launch_measured=launch_measured)
    try:
        for outcome in outcomes:
            _refuse_unequal(outcome)
    except BaseException:
        end_workers(outcomes)
        raise
    return outcomes


def _refuse_unequal(outcome: Outcome) -> None:
    failure, parity = outcome.launch.failure, outcome.launch.parity
    if failure is not None:
        raise WorkerError(failure.kind, f"{outcome.arm.id}: {failure.message}", failure.detail)
    if parity is not None and not parity.equal:
        raise LevelfieldError(f"{outcome.arm.id} is not equal to the reference: {parity.reason}.")


def launch_canary(resources: RunResources) -> list[Outcome]:
    """Launch the canary alone; raises as `launch` does."""
    return launch(resources, canary_case(len(resources.cpus)), [canary_arm()])


def process_ids(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Return the process ids of living workers, by arm; 0 where the host cannot see them."""
    return {each.launch.arm: each.worker.pid or 0 for each in outcomes if each.worker is not None}


def take_turn(outcome: Outcome, request: Measure, signals: Signals, pids: Mapping[str, int]) -> Turn:
    """Take one window of one of several living workers."""
    if outcome.worker is None:
        raise WorkerError("crashed", f"The worker of {outcome.arm.id} has ended.")
    settling = wait_until_idle(pids)
    if settling.unseen:
        raise LevelfieldError("The CPU clocks of the workers cannot be read here: turns cannot begin as in a run.")
    before = signals.snapshot(pids)
    start_ns = time.monotonic_ns()
    window = outcome.worker.ask(request, Measured, WINDOW_TIMEOUT_S).window
    wall_ns = time.monotonic_ns() - start_ns
    noise = difference(before, signals.snapshot(pids), outcome.launch.arm)
    return Turn(window, noise, settling, start_ns, wall_ns)
