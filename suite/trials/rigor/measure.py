"""Take the stream: generation after generation of identical arms, all alive together, every timestamp kept."""

import datetime as dt
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import msgspec
import numpy as np

from suite.backends import registry
from suite.errors import LevelfieldError
from suite.launchers.worker import WorkerError
from suite.machine.disturbance import disturbed
from suite.machine.settling import settle
from suite.machine.signals import Signals, difference
from suite.record.schema import Absent, Arm, Noise
from suite.schedule.launches import bring_up
from suite.schedule.outcomes import Outcome, end_workers, utc_now
from suite.schedule.preparation import canary_arm, canary_case
from suite.schedule.rounds import WARM_CALLS, WARM_NS, Pace, warm_up
from suite.schedule.site import Site
from suite.trials.rigor.busy import competing
from suite.trials.rigor.record import KEPT_CALLS, Generation, Outside, Pair, Round, Setup, Stream, Window
from suite.worker.messages import Measure, Measured

WINDOW_TIMEOUT_S = 120.0
GIVE_UP_AFTER = 3
"""Generations that may fail in a row."""
CANARY = -1


class Clock:
    """Time since a stream began: the monotonic clock, set once by the calendar so that a stream may be taken up again.

    Parameters
    ----------
    began
        When the stream began, UTC, ISO 8601.
    """

    def __init__(self, began: str) -> None:
        moment = dt.datetime.fromisoformat(began)
        self._offset_ns = round((dt.datetime.now(dt.UTC) - moment).total_seconds() * 1e9) - time.monotonic_ns()

    def now_ns(self) -> int:
        return time.monotonic_ns() + self._offset_ns


def measure(
    stream: Stream,
    site: Site,
    generations: int,
    keep: Callable[[Stream], None],
    *,
    seconds: float,
) -> Stream:
    """Add generations to a stream until it has so many, or the time is spent.

    Parameters
    ----------
    keep
        Is given the stream after every generation.
    seconds
        No generation is begun that would last longer, by what the last one took.

    Raises
    ------
    LevelfieldError
        `GIVE_UP_AFTER` generations failed in a row, or an arm does not compute what it should.
    """
    setup = stream.setup
    clock, began, failed, last_s = Clock(stream.started), time.monotonic(), 0, 0.0
    canary: list[Outcome] = []
    with ExitStack() as stack:
        stack.callback(lambda: end_workers(canary))
        signals = stack.enter_context(Signals(site.cpus))
        limit_s = seconds + 600.0
        stack.enter_context(competing(setup.busy_share, site.cpus[-1], setup.seed + len(stream.generations), limit_s))
        while len(stream.generations) < generations and time.monotonic() - began + last_s <= seconds:
            index = len(stream.generations) + len(stream.lost)
            before = time.monotonic()
            try:
                if setup.canary and not canary:
                    canary += _bring_up_canary(setup, site)
                taken = _generation(setup, site, index, clock, signals, canary)
            except WorkerError as error:
                failed += 1
                end_workers(canary)
                canary.clear()
                lost = (*stream.lost, f"generation {index}: {error}")
                stream = msgspec.structs.replace(stream, lost=lost, updated=utc_now())
                if failed >= GIVE_UP_AFTER:
                    raise LevelfieldError(f"{failed} generations failed in a row; the last: {error}") from error
            else:
                failed = 0
                stream = msgspec.structs.replace(stream, generations=(*stream.generations, taken), updated=utc_now())
            last_s = time.monotonic() - before
            keep(stream)
    return stream


def arms_of(setup: Setup) -> list[Arm]:
    """Return the arms: the same one as often as the trial wants it, or half of them of another framework."""
    share = setup.arms // len(setup.backends)
    return [
        Arm(backend=backend, image=registry.get(backend).image, ordinal=number + 1)
        for backend in setup.backends
        for number in range(share)
    ]


def _pace(setup: Setup) -> Pace:
    return Pace(setup.rounds, setup.window_ns, setup.min_calls, repeats=0)


def _bring_up_canary(setup: Setup, site: Site) -> list[Outcome]:
    """Launch the canary: it lives as long as the stream is taken, as it does in a run."""
    outcomes = bring_up(site, canary_case(len(site.cpus)), [canary_arm()])
    try:
        _refuse_unequal(outcomes)
        warm_up(outcomes[0], _pace(setup))
    except BaseException:
        end_workers(outcomes)
        raise
    return outcomes


def _generation(
    setup: Setup, site: Site, index: int, clock: Clock, signals: Signals, canary: Sequence[Outcome]
) -> Generation:
    order = random.Random(f"{setup.seed}/{index}")  # noqa: S311  (a schedule, not a secret)
    started, start_ns = utc_now(), clock.now_ns()
    outcomes = bring_up(site, setup.case, arms_of(setup))
    try:
        _refuse_unequal(outcomes)
        launched_ns = clock.now_ns()
        for outcome in outcomes:
            warm_up(outcome, _pace(setup))
        warmed_ns = clock.now_ns()
        turns = _Turns(setup, [*outcomes, *canary], clock, signals)
        return Generation(
            index=index,
            started=started,
            start_ns=start_ns,
            launch_ns=launched_ns - start_ns,
            warm_up_ns=warmed_ns - launched_ns,
            rounds=tuple(turns.round(order) for _ in range(setup.rounds)),
        )
    finally:
        end_workers(outcomes)


def _refuse_unequal(living: Sequence[Outcome]) -> None:
    for outcome in living:
        failure, parity = outcome.launch.failure, outcome.launch.parity
        if failure is not None:
            raise WorkerError(failure.kind, f"{outcome.arm.id}: {failure.message}", failure.detail)
        if parity is not None and not parity.equal:
            raise LevelfieldError(f"{outcome.arm.id} is not equal to the reference: {parity.reason}.")


class _Turns:
    """The living arms, and the turns they take."""

    def __init__(self, setup: Setup, living: Sequence[Outcome], clock: Clock, signals: Signals) -> None:
        self._setup = setup
        self._living = living
        self._clock = clock
        self._signals = signals
        self._pids = {each.launch.arm: each.worker.pid or 0 for each in living if each.worker}

    def round(self, order: random.Random) -> Round:
        """Let every pair, and the canary, take its turns; in random order, the two of a pair as well."""
        lanes = [*range(self._setup.arms // 2), *([CANARY] if self._setup.canary else [])]
        order.shuffle(lanes)
        pairs: list[Pair] = []
        canary: Window | None = None
        for lane in lanes:
            if lane == CANARY:
                canary, _ = self._turn(CANARY, self._living[-1])
                continue
            both = [2 * lane, 2 * lane + 1]
            order.shuffle(both)
            (first, before), (second, after) = (self._turn(arm, self._living[arm]) for arm in both)
            noises = [before, after]
            said = disturbed(noises, len(self._signals.cpus))
            pairs.append(Pair(lane, (first, second), _sum(noises), said))
        return Round(tuple(pairs), canary)

    def _turn(self, arm: int, outcome: Outcome) -> tuple[Window, Noise]:
        setup = self._setup
        if outcome.worker is None:
            raise WorkerError("crashed", f"{outcome.arm.id} is not there any more.")
        if settle(self._pids).unseen:
            raise LevelfieldError("The CPU clocks of the workers cannot be read here: turns cannot begin as in a run.")
        request = Measure(
            window_ns=setup.window_ns, min_calls=setup.min_calls, rewarm_ns=WARM_NS, rewarm_calls=WARM_CALLS
        )
        before = self._signals.snapshot(self._pids)
        start_ns = self._clock.now_ns()
        measured = outcome.worker.ask(request, Measured, WINDOW_TIMEOUT_S)
        wall_ns = self._clock.now_ns() - start_ns
        noise = difference(before, self._signals.snapshot(self._pids), outcome.launch.arm)
        return summarise(arm, start_ns, wall_ns, measured.samples_ns), noise


def summarise(arm: int, start_ns: int, wall_ns: int, calls_ns: Sequence[int]) -> Window:
    """Return what is kept of a window."""
    p10, p50, p90 = (round(float(value)) for value in np.quantile(calls_ns, (0.1, 0.5, 0.9)))
    mean = round(float(np.mean(calls_ns)))
    return Window(arm, start_ns, wall_ns, len(calls_ns), p50, mean, p10, p90, tuple(calls_ns[:KEPT_CALLS]))


def _sum(noises: Sequence[Noise]) -> Outside:
    def total(values: list[int | Absent]) -> int | None:
        known = [value for value in values if isinstance(value, int)]
        return sum(known) if len(known) == len(values) else None

    return Outside(
        elapsed_ns=sum(noise.elapsed_ns for noise in noises),
        steal_ns=total([noise.steal_ns for noise in noises]),
        others_ns=total([noise.others_ns for noise in noises]),
        idle_workers_ns=total([noise.idle_workers_ns for noise in noises]),
        pressure_ns=total([noise.pressure_ns for noise in noises]),
        supervisor_ns=sum(noise.supervisor_ns for noise in noises),
    )
