"""From a block of the record to its launches, turns and windows, each window summarised once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard, TypeVar

import numpy as np

from levelfield.record import schema
from levelfield.record.states import Judgement, State, judge, levels_of
from levelfield.statistics.arrays import Floats

Value = TypeVar("Value")


@dataclass(frozen=True)
class WindowSummary:
    """One timed window, its samples kept as an array."""

    position: tuple[int, int]
    """Of its generation in the block, and of its round in the generation."""
    samples_ns: Floats
    """Of a call each: the mean of those that were timed together, where several were."""
    median_ns: float
    calls: int
    window_ns: int
    cpu_ns: int
    state: State | None = None
    """Of the machine; None: not known."""
    attempt: int = 0
    """Its number among the windows of its arm in the round."""


@dataclass(frozen=True)
class LaunchSummary:
    """One worker's windows, in the order of the rounds; of one that was taken again, all attempts in order."""

    generation: int
    launch: schema.Launch
    windows: tuple[WindowSummary, ...]
    windows_failed: int
    failure: schema.Failure | None


@dataclass(frozen=True)
class ArmSummary:
    """All launches of one arm, by generation."""

    arm: schema.Arm
    launches: tuple[LaunchSummary, ...]

    @property
    def workers(self) -> tuple[schema.Launch, ...]:
        return tuple(each.launch for each in self.launches)

    @property
    def failures(self) -> tuple[schema.Failure, ...]:
        return tuple(launch.failure for launch in self.launches if launch.failure is not None)


def launches(block: schema.Block, arm: str | None = None) -> Iterator[tuple[schema.Generation, schema.Launch]]:
    """Yield the launches of a block with their generations, in the order of the record."""
    for generation in block.generations:
        for launch in generation.launches:
            if arm in {None, launch.arm}:
                yield generation, launch


def turns(block: schema.Block, arm: str | None = None) -> Iterator[tuple[schema.Generation, schema.Round, schema.Turn]]:
    """Yield the turns of a block with their generations and rounds, in the order of the record."""
    for generation in block.generations:
        for round_ in generation.rounds:
            for turn in round_.turns:
                if arm in {None, turn.arm}:
                    yield generation, round_, turn


def by_generation(block: schema.Block, value: Callable[[schema.Launch], float | None]) -> dict[str, dict[int, float]]:
    """Return a value of each launch above zero, by arm and generation."""
    found: dict[str, dict[int, float]] = {arm.id: {} for arm in block.arms}
    for generation, launch in launches(block):
        level = value(launch)
        if launch.arm in found and level is not None and level > 0:
            found[launch.arm][generation.index] = level
    return found


def known(values: Iterable[Value | schema.Absent]) -> list[Value] | schema.Absent:
    """Return the values that are not absent; the last reason where all are."""
    missing = schema.Absent("not read in any window")
    found: list[Value] = []
    for value in values:
        if isinstance(value, schema.Absent):
            missing = value
        else:
            found.append(value)
    return found or missing


def per_ns(readings: Iterable[tuple[int | schema.Absent, int]]) -> float | schema.Absent:
    """Return the sum of a counter over the windows in which it was read, divided by the duration of these windows."""
    found = known(value if isinstance(value, schema.Absent) else (value, elapsed_ns) for value, elapsed_ns in readings)
    if isinstance(found, schema.Absent):
        return found
    whole_ns = sum(elapsed_ns for _, elapsed_ns in found)
    return sum(value for value, _ in found) / whole_ns if whole_ns else schema.Absent("windows without a duration")


def startups(launches: Iterable[schema.Launch]) -> tuple[schema.Startup, ...]:
    """Return how those of the launches came up that did not fail."""
    return tuple(launch.startup for launch in launches if launch.startup is not None and launch.failure is None)


def version(launches: Iterable[schema.Launch]) -> str:
    """Return the version that a framework reported first; empty where none did."""
    return next((launch.framework_version for launch in launches if launch.framework_version), "")


def peaks_bytes(launches: Iterable[schema.Launch]) -> list[float]:
    """Return the peak resident memory of each launch in which it was read."""
    peaks = [launch.memory.peak_rss_bytes for launch in launches if launch.memory is not None]
    return [float(peak) for peak in peaks if not isinstance(peak, schema.Absent)]


def peak_bytes(launches: Iterable[schema.Launch]) -> float | None:
    """Return the median over launches of the peak resident memory; None where none was read."""
    return median(peaks_bytes(launches))


def median(values: Sequence[float]) -> float | None:
    """Return the median; None of no values."""
    return float(np.median(values)) if values else None


def arms(block: schema.Block) -> tuple[ArmSummary, ...]:
    """Summarise every arm of a block but the canary, in the order of the plan."""
    levels = levels_of(block)
    return tuple(ArmSummary(arm, summaries(block, arm.id, levels)) for arm in block.arms if arm.id != block.canary)


def summaries(
    block: schema.Block, arm: str | None, levels: schema.MachineLevels | None = None
) -> tuple[LaunchSummary, ...]:
    """Summarise the launches of one arm."""
    if arm is None:
        return ()
    found = []
    for row, generation in enumerate(block.generations):
        launch = next((launch for launch in generation.launches if launch.arm == arm), None)
        taken = [
            (column, attempt, turn)
            for column, round_ in enumerate(generation.rounds)
            for attempt, turn in enumerate(turn for turn in round_.turns if turn.arm == arm)
        ]
        if launch is None and not taken:
            continue
        windows = tuple(
            summarise_window(turn.window, (row, column), attempt, judge(turn, levels))
            for column, attempt, turn in taken
            if _usable(turn.window)
        )
        failures = [turn.failure for *_, turn in taken if turn.failure is not None]
        found.append(
            LaunchSummary(
                generation=generation.index,
                launch=launch or schema.Launch(arm=arm, started=""),
                windows=windows,
                windows_failed=len(taken) - len(windows),
                failure=(launch.failure if launch is not None else None) or next(iter(failures), None),
            )
        )
    return tuple(found)


def _usable(window: schema.Window | None) -> TypeGuard[schema.Window]:
    """Return whether a window holds times: an untrusted record may hold anything."""
    if window is None or not window.samples_ns:
        return False
    return min(*window.samples_ns, window.window_ns, window.calls_per_sample) > 0


def _median_of(samples: Floats) -> float:
    """Return what `numpy.median` does, which takes ten times as long for the few samples of a window."""
    ordered = np.sort(samples)
    upper = ordered.size // 2
    return float(ordered[upper] if ordered.size % 2 else (ordered[upper - 1] + ordered[upper]) / 2)


def summarise_window(
    window: schema.Window, position: tuple[int, int], attempt: int = 0, judged: Judgement | None = None
) -> WindowSummary:
    """Summarise one window."""
    samples = np.asarray(window.samples_ns, dtype=np.float64) / window.calls_per_sample
    return WindowSummary(
        position=position,
        samples_ns=samples,
        median_ns=_median_of(samples),
        calls=window.calls,
        window_ns=window.window_ns,
        cpu_ns=window.user_ns + window.system_ns,
        state=None if judged is None else judged.state,
        attempt=attempt,
    )
