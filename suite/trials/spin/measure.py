"""Take the windows of the spin trial: the rules by which a window begins alternate at random in one run."""

import random
import statistics
import time
from collections.abc import Iterator, Sequence

from suite.errors import LevelfieldError
from suite.launchers.worker import WorkerError
from suite.machine.signals import Signals
from suite.record.schema import Block
from suite.schedule.outcomes import Outcome, end_workers
from suite.schedule.resources import RunResources
from suite.schedule.rounds import REWARM_NS, WARM_CALLS, WARM_NS, Pace, warm_up
from suite.schedule.timed_inputs import rotate
from suite.trials.spin.record import KEPT_CALLS, Cell, Rule, Window
from suite.trials.workers import known_ns, launch, launch_canary, process_ids, take_turn
from suite.worker.messages import Measure

_FIXED: Rule = "fixed 40 ms"
_RULES: tuple[Rule, ...] = (_FIXED, _FIXED, "until still", "until still", "until still, no warm call")
"""Rules of five rounds in a row, in random order."""
_WARM: dict[Rule, tuple[int, int]] = {
    _FIXED: (1, REWARM_NS),
    "until still": (WARM_CALLS, WARM_NS),
    "until still, no warm call": (0, 0),
}
"""Unrecorded calls at the least, and how long they go on at the least."""


def measure(site: RunResources, block: Block, pace: Pace, *, seconds: float, seed: int) -> Cell:
    """Let all arms of a block and the canary take turns in random order until the time is spent.

    Parameters
    ----------
    site : RunResources
        Images and artifacts.
    block : Block
        The case, and the arms beside the canary.
    pace : Pace
        Of the windows.
    seconds : float
        Time to measure; a group of rounds that has begun is finished.
    seed : int
        Of the order.

    Returns
    -------
    Cell

    Raises
    ------
    LevelfieldError
        An arm cannot be measured, or does not compute what it should.
    """
    case = block.case
    outcomes: list[Outcome] = []
    try:
        outcomes += launch(site, case, block.arms, launch_measured=False)
        rotate(site, case, outcomes)
        outcomes += launch_canary(site)
        for outcome in outcomes:
            warm_up(outcome, pace)
        with Signals(site.cpus) as signals:
            order = random.Random(f"{seed}/{case.id}")  # noqa: S311 (a schedule)
            return Cell(
                case=case,
                arms=tuple(outcome.arm.id for outcome in outcomes),
                window_ns=pace.window_ns,
                min_calls=pace.min_calls,
                windows=tuple(_windows(outcomes, pace, signals, order, seconds)),
            )
    except WorkerError as error:
        raise LevelfieldError(f"{case.id} cannot be measured: {error.message}") from error
    finally:
        end_workers(outcomes)


def _windows(
    living: Sequence[Outcome], pace: Pace, signals: Signals, order: random.Random, seconds: float
) -> Iterator[Window]:
    """Take rounds until the time is spent; the first window of all has none before it and is left out."""
    end = time.monotonic() + seconds
    pids = process_ids(living)
    arms, before = list(living), ""
    while time.monotonic() < end:
        for rule in order.sample(_RULES, len(_RULES)):
            order.shuffle(arms)
            for outcome in arms:
                taken = _window(outcome, pace, rule, signals, pids, before)
                if before:
                    yield taken
                before = outcome.arm.id


def _window(outcome: Outcome, pace: Pace, rule: Rule, signals: Signals, pids: dict[str, int], before: str) -> Window:
    warm_calls, warm_ns = _WARM[rule]
    request = Measure(window_ns=pace.window_ns, min_calls=pace.min_calls, rewarm_calls=warm_calls, rewarm_ns=warm_ns)
    measured, noise, settling, _, _ = take_turn(outcome, request, signals, pids, wait=rule != _FIXED)
    return Window(
        rule=rule,
        arm=outcome.arm.id,
        before=before,
        waited_ns=settling.waited_ns,
        busy=settling.busy,
        warm_calls=len(measured.rewarm_ns),
        warm_ns=sum(measured.rewarm_ns),
        calls=len(measured.samples_ns),
        later_ns=statistics.median(measured.samples_ns[1:]),
        first_ns=measured.samples_ns[:KEPT_CALLS],
        idle_workers_ns=known_ns(noise.idle_workers_ns),
        others_ns=known_ns(noise.others_ns),
        elapsed_ns=noise.elapsed_ns,
    )
