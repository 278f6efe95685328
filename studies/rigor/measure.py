"""Take the stream: generation after generation of identical arms, all alive together, every timestamp kept."""

import datetime as dt
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import msgspec
import numpy as np

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.launchers.worker import WorkerError
from levelfield.machine.disturbance import reasons
from levelfield.machine.signals import Signals
from levelfield.record.disturbance import sentence
from levelfield.record.schema import Absent, Arm, Noise
from levelfield.schedule.outcomes import Outcome, end_workers, utc_now
from levelfield.schedule.resources import RunResources
from levelfield.schedule.rounds import WARM_CALLS, WARM_NS, Pace, warm_up
from levelfield.worker.messages import Measure
from studies.rigor.record import KEPT_CALLS, Generation, Outside, Pair, Round, Setup, Stream, Window
from studies.workers import launch, launch_canary, process_ids, take_turn

MAX_FAILURES = 3
"""Generations that may fail in a row."""
CANARY = -1


class Clock:
    """Time since a stream began: the monotonic clock, set once by the calendar, so that a stream can be resumed."""

    def __init__(self, began: str) -> None:
        moment = dt.datetime.fromisoformat(began)
        self.offset_ns = round((dt.datetime.now(dt.UTC) - moment).total_seconds() * 1e9) - time.monotonic_ns()

    def now_ns(self) -> int:
        return time.monotonic_ns() + self.offset_ns


def measure(
    stream: Stream, site: RunResources, generations: int, keep: Callable[[Stream], None], *, seconds: float
) -> Stream:
    """Add generations to a stream until it has so many, or the time is spent."""
    setup = stream.setup
    clock, began, failed, last_s = Clock(stream.started), time.monotonic(), 0, 0.0
    canary: list[Outcome] = []
    with ExitStack() as stack:
        stack.callback(lambda: end_workers(canary))
        signals = stack.enter_context(Signals(site.cpus))
        while len(stream.generations) < generations and time.monotonic() - began + last_s <= seconds:
            index = len(stream.generations) + len(stream.lost)
            before = time.monotonic()
            try:
                if setup.canary and not canary:
                    canary += launch_canary(site)
                    warm_up(canary[0], _pace(setup))
                taken = _generation(setup, site, index, clock, signals, canary)
            except WorkerError as error:
                failed += 1
                end_workers(canary)
                canary.clear()
                lost = (*stream.lost, f"generation {index}: {error}")
                stream = msgspec.structs.replace(stream, lost=lost, updated=utc_now())
                if failed >= MAX_FAILURES:
                    raise LevelfieldError(f"{failed} generations failed in a row; the last: {error}") from error
            else:
                failed = 0
                stream = msgspec.structs.replace(stream, generations=(*stream.generations, taken), updated=utc_now())
            last_s = time.monotonic() - before
            keep(stream)
    return stream


def arms_of(setup: Setup) -> list[Arm]:
    """Return the same arm as often as the study wants it."""
    image = registry.get(setup.backend).image
    return [Arm(backend=setup.backend, image=image, ordinal=number + 1) for number in range(setup.arms)]


def _pace(setup: Setup) -> Pace:
    return Pace(setup.rounds, setup.window_ns, setup.min_calls, repeats=0)


def _generation(
    setup: Setup, site: RunResources, index: int, clock: Clock, signals: Signals, canary: Sequence[Outcome]
) -> Generation:
    order = random.Random(f"{setup.seed}/{index}")  # noqa: S311  (a schedule, not a secret)
    started, start_ns = utc_now(), clock.now_ns()
    outcomes = launch(site, setup.case, arms_of(setup))
    try:
        launched_ns = clock.now_ns()
        for outcome in outcomes:
            warm_up(outcome, _pace(setup))
        warmed_ns = clock.now_ns()
        turns = _Turns(setup, [*outcomes, *canary], clock, signals)
        rounds = tuple(turns.round(order) for _ in range(setup.rounds))
        return Generation(index, started, start_ns, launched_ns - start_ns, warmed_ns - launched_ns, rounds)
    finally:
        end_workers(outcomes)


class _Turns:
    """The living arms, the canary the last of them, and the turns they take."""

    def __init__(self, setup: Setup, living: Sequence[Outcome], clock: Clock, signals: Signals) -> None:
        self._setup, self._living, self._clock, self._signals = setup, living, clock, signals
        self._pids = process_ids(living)

    def round(self, order: random.Random) -> Round:
        """Let every pair, and the canary, take its turns; in random order, the two of a pair as well."""
        lanes = [*range(self._setup.arms // 2), *([CANARY] if self._setup.canary else [])]
        order.shuffle(lanes)
        pairs: list[Pair] = []
        canary: Window | None = None
        for lane in lanes:
            if lane == CANARY:
                canary, _ = self._turn(CANARY)
                continue
            both = [2 * lane, 2 * lane + 1]
            order.shuffle(both)
            (first, before), (second, after) = (self._turn(arm) for arm in both)
            noises = [before, after]
            reason = sentence(reasons(noises, len(self._signals.cpus)))
            pairs.append(Pair(lane, (first, second), _sum(noises), reason))
        return Round(tuple(pairs), canary)

    def _turn(self, arm: int) -> tuple[Window, Noise]:
        setup = self._setup
        request = Measure(setup.window_ns, setup.min_calls, rewarm_ns=WARM_NS, rewarm_calls=WARM_CALLS)
        turn = take_turn(self._living[arm], request, self._signals, self._pids)
        window = summarise(arm, turn.start_ns + self._clock.offset_ns, turn.wall_ns, turn.window.samples_ns)
        return window, turn.noise


def summarise(arm: int, start_ns: int, wall_ns: int, calls_ns: Sequence[int]) -> Window:
    """Return what is kept of a window."""
    p10, p50, p90 = (round(float(value)) for value in np.quantile(calls_ns, (0.1, 0.5, 0.9)))
    mean = round(float(np.mean(calls_ns)))
    return Window(arm, start_ns, wall_ns, len(calls_ns), p50, mean, p10, p90, tuple(calls_ns[:KEPT_CALLS]))


def _sum(noises: Sequence[Noise]) -> Outside:
    def total(name: str) -> int | None:
        values = [getattr(noise, name) for noise in noises]
        return None if any(isinstance(value, Absent) for value in values) else sum(values)

    return Outside(**{name: total(name) for name in Outside.__struct_fields__})  # type: ignore[arg-type]  # two are always known
