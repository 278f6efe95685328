"""Take the windows of the spin trial: the rules by which a window begins alternate at random in one run."""

import random
import statistics
import time
from collections.abc import Iterator, Sequence

from suite.errors import LevelfieldError
from suite.launchers.worker import WorkerError
from suite.machine.settling import settle
from suite.machine.signals import Signals, difference
from suite.record.schema import Absent, Block
from suite.schedule.launches import bring_up
from suite.schedule.outcomes import Outcome, end_workers
from suite.schedule.preparation import canary_arm, canary_case
from suite.schedule.rounds import REWARM_NS, WARM_CALLS, WARM_NS, Pace, warm_up
from suite.schedule.site import Site
from suite.schedule.timed_inputs import rotate
from suite.trials.spin.record import KEPT_CALLS, Cell, Rule, Window
from suite.worker.messages import Measure, Measured

WINDOW_TIMEOUT_S = 120.0
_BLOCK: tuple[Rule, ...] = (
    "fixed 40 ms",
    "fixed 40 ms",
    "until still",
    "until still",
    "until still, no warm call",
)
"""Rules of five rounds in a row, in random order."""
_WARM: dict[Rule, tuple[int, int]] = {
    "fixed 40 ms": (1, REWARM_NS),
    "until still": (WARM_CALLS, WARM_NS),
    "until still, no warm call": (0, 0),
}
"""Unrecorded calls at the least, and how long they go on at the least."""


def measure(site: Site, block: Block, pace: Pace, *, seconds: float, seed: int) -> Cell:
    """Let all arms of a block and the canary take turns in random order until the time is spent.

    Raises
    ------
    LevelfieldError
        An arm cannot be measured, or does not compute what it should.
    """
    case = block.case
    outcomes = bring_up(site, case, block.arms, alone=False)
    try:
        outcomes += bring_up(site, canary_case(len(site.cpus)), [canary_arm()])
        rotate(site, case, outcomes[:-1])
        for outcome in outcomes:
            failure, parity = outcome.launch.failure, outcome.launch.parity
            if failure is not None or parity is None or not parity.equal:
                why = failure.message if failure is not None else "it is not equal to the reference."
                raise LevelfieldError(f"{outcome.arm.id} cannot be measured: {why}")
            warm_up(outcome, pace)
        with Signals(site.cpus) as signals:
            turns = _Turns(outcomes, pace, signals)
            return Cell(
                case=case,
                arms=tuple(outcome.arm.id for outcome in outcomes),
                window_ns=pace.window_ns,
                min_calls=pace.min_calls,
                windows=tuple(turns.take(random.Random(f"{seed}/{case.id}"), seconds)),  # noqa: S311 (a schedule)
            )
    except WorkerError as error:
        raise LevelfieldError(f"{case.id} cannot be measured: {error.message}") from error
    finally:
        end_workers(outcomes)


class _Turns:
    """The living arms, and the windows that they take."""

    def __init__(self, living: Sequence[Outcome], pace: Pace, signals: Signals) -> None:
        self._living = living
        self._pace = pace
        self._signals = signals
        self._pids = {each.arm.id: each.worker.pid or 0 for each in living if each.worker is not None}
        self._before = ""

    def take(self, order: random.Random, seconds: float) -> Iterator[Window]:
        """Take rounds until the time is spent; the first window of all has none before it and is left out."""
        end = time.monotonic() + seconds
        arms = list(self._living)
        while time.monotonic() < end:
            for rule in order.sample(_BLOCK, len(_BLOCK)):
                order.shuffle(arms)
                for outcome in arms:
                    taken = self._window(outcome, rule)
                    if self._before:
                        yield taken
                    self._before = outcome.arm.id

    def _window(self, outcome: Outcome, rule: Rule) -> Window:
        if outcome.worker is None:
            raise WorkerError("crashed", f"{outcome.arm.id} is not there any more.")
        settling = settle(self._pids) if rule != "fixed 40 ms" else None
        if settling is not None and settling.unseen:
            raise LevelfieldError("The CPU clocks of the workers cannot be read here, so there is nothing to compare.")
        before = self._signals.snapshot(self._pids)
        warm_calls, warm_ns = _WARM[rule]
        request = Measure(
            window_ns=self._pace.window_ns,
            min_calls=self._pace.min_calls,
            rewarm_calls=warm_calls,
            rewarm_ns=warm_ns,
        )
        measured = outcome.worker.ask(request, Measured, WINDOW_TIMEOUT_S)
        noise = difference(before, self._signals.snapshot(self._pids), outcome.arm.id)
        return Window(
            rule=rule,
            arm=outcome.arm.id,
            before=self._before,
            waited_ns=settling.waited_ns if settling is not None else 0,
            busy=settling.busy if settling is not None else (),
            warm_calls=len(measured.rewarm_ns),
            warm_ns=sum(measured.rewarm_ns),
            calls=len(measured.samples_ns),
            later_ns=statistics.median(measured.samples_ns[1:]),
            first_ns=measured.samples_ns[:KEPT_CALLS],
            idle_workers_ns=None if isinstance(noise.idle_workers_ns, Absent) else noise.idle_workers_ns,
            others_ns=None if isinstance(noise.others_ns, Absent) else noise.others_ns,
            elapsed_ns=noise.elapsed_ns,
        )
