"""From a block to launch levels: one value for each launch. They are computed nowhere else.

The schedule decides by these values when to stop, a report ranks by them, `ab` judges by them, and the trials measure
how often that is wrong. So all of them use the same numbers, and an interval that ended a run is the one reported.

Where the machine was probed around windows, a launch has a level for each state (`record.states`): its calm one
is formed of its calm windows. Ratios are of one state, since each state hits arms differently.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from levelfield.analysis import collect, convergence, loadgen
from levelfield.analysis.collect import ArmSummary, LaunchSummary, WindowSummary
from levelfield.analysis.estimates import Levels, matrix
from levelfield.analysis.whole_launch import total_ns
from levelfield.record.schema import Block, Launch
from levelfield.record.states import knowledge, levels_of
from levelfield.statistics.arrays import Floats
from levelfield.statistics.counting import Counting, count_windows
from levelfield.statistics.levels import levels_of_windows
from levelfield.statistics.student import MIN_LAUNCHES


def launch_levels(block: Block) -> Levels:
    """Return what the arms of a block are compared by, one value for each launch; none where it has no value.

    Returns of a call, an item (throughput), a step, a training to its target, a query or sample of LoadGen, a cold
    start (nanoseconds), or peak memory (bytes).
    """
    match block.case.definition.sample:
        case "window":
            return reduce(block).compared
        case "training run":
            return convergence.times_ns(block)
        case "LoadGen test":
            return loadgen.levels_ns(block)
        case "cold start":
            return collect.by_generation(block, _cold_ns)
        case "peak memory":
            return collect.by_generation(block, lambda launch: collect.peak_bytes([launch]))


def level_matrix(block: Block) -> Floats:
    """Return the logarithms of `launch_levels` as an array, as the schedule and the intervals take them.

    Returns in the order of the record; NaN where an arm has no value. Generations of which no round counts are left
    out.
    """
    if block.case.timed:
        return reduce(block).matrix
    levels = launch_levels(block)
    return matrix({arm.id: levels[arm.id] for arm in block.arms}, [each.index for each in block.generations])


Selection: TypeAlias = Literal["calm", "contended", "all"]
"""Windows that levels are formed of: of one state of the machine, or all of them."""


@dataclass(frozen=True)
class Reduction:
    """A block of windows in rounds: which of them count, and the levels that follow."""

    block: Block
    windows: Selection
    """Those that its figures are of."""
    arms: tuple[ArmSummary, ...]
    counting: Counting
    log_medians: Floats
    """Log of each selected window's median call, whether it counts or not; shape (generations, rounds, arms). Where a
    window was taken again in the same state, the mean over its attempts."""
    log_items: Floats
    """The same of the time of an item, from whole windows."""

    @property
    def log_compared(self) -> Floats:
        """What the arms are compared by, whether a window counts or not."""
        return self.log_items if self.block.case.per_item else self.log_medians

    @property
    def log_counted(self) -> Floats:
        """The same, NaN where a window does not count."""
        return np.where(self.counting.windows, self.log_compared, np.nan)

    @cached_property
    def compared(self) -> Levels:
        """Time of a call, or of an item in throughput cases, one value per launch."""
        return self.item_ns if self.block.case.per_item else self.call_ns

    @cached_property
    def matrix(self) -> Floats:
        """The logarithms of `compared`, shape (generations, arms), without generations of which no round counts."""
        rounds = self.counting.rounds
        rows = [each.index for row, each in enumerate(self.block.generations) if not each.rounds or rounds[row].any()]
        return matrix(self.compared, rows)

    @cached_property
    def call_ns(self) -> Levels:
        return self._levels(self.log_medians, self.counting.windows)

    @cached_property
    def item_ns(self) -> Levels:
        return self._levels(self.log_items, self.counting.windows)

    @cached_property
    def with_disturbed(self) -> Levels:
        """What the arms are compared by, with every selected window that there is."""
        return self._levels(self.log_compared, ~np.isnan(self.log_compared))

    def selects(self, window: WindowSummary) -> bool:
        """Return whether a window is one of those that its figures are of."""
        return self.windows in {"all", window.state}

    def counts(self, number: int, window: WindowSummary) -> bool:
        """Return whether a window counts."""
        return self.selects(window) and bool(self.counting.windows[(*window.position, number)])

    def _levels(self, logs: Floats, counting: NDArray[np.bool_]) -> Levels:
        found = levels_of_windows(np.where(counting, logs, np.nan))
        return {
            summary.arm.id: {
                generation.index: math.exp(found[row, number])
                for row, generation in enumerate(self.block.generations)
                if not np.isnan(found[row, number])
            }
            for number, summary in enumerate(self.arms)
        }


@dataclass(frozen=True)
class States:
    """The reductions of a block by the state of the machine; of one that was not probed, all are of all windows."""

    calm: Reduction
    contended: Reduction | None
    """None: no window was."""
    everything: Reduction
    starved: frozenset[str]
    """Arms that were not measured in the calm state in enough launches: what is said of them is of all windows."""

    @property
    def compared(self) -> Reduction:
        """The one in which any two arms of the block can be compared: calm, unless an arm is starved of it."""
        return self.everything if self.starved else self.calm


def by_state(block: Block) -> States:
    """Return which windows of a block in rounds count (`statistics.counting`), by the state of the machine.

    Where the machine was contended throughout a run, all windows are of one kind, and none is called calm.
    """
    arms = collect.arms(block)
    everything = _reduce(block, arms, "all")
    known = levels_of(block)
    if known is None or knowledge(known) == "contended throughout":
        return States(everything, None, everything, frozenset())
    found = {window.state for arm in arms for launch in arm.launches for window in launch.windows}
    if "calm" not in found:
        return States(everything, None, everything, frozenset(arm.arm.id for arm in arms))
    return States(
        calm=_reduce(block, arms, "calm"),
        contended=_reduce(block, arms, "contended") if "contended" in found else None,
        everything=everything,
        starved=frozenset(arm.arm.id for arm in arms if _is_starved(arm)),
    )


def reduce(block: Block) -> Reduction:
    """Return the levels by which any two arms of a block in rounds are compared."""
    return by_state(block).compared


def _is_starved(summary: ArmSummary) -> bool:
    """Return whether an arm has calm windows in fewer launches than an interval needs, while it has enough launches."""
    measured = [launch for launch in summary.launches if launch.windows]
    calm = sum(any(window.state == "calm" for window in launch.windows) for launch in measured)
    return calm < MIN_LAUNCHES <= len(measured) or (calm == 0 and bool(measured))


def _reduce(block: Block, arms: tuple[ArmSummary, ...], windows: Selection) -> Reduction:
    shape = len(block.generations), max((len(generation.rounds) for generation in block.generations), default=0)

    def lay_out(launches: Sequence[LaunchSummary], value: Callable[[WindowSummary], float]) -> Floats:
        sums, attempts = np.zeros(shape), np.zeros(shape)
        for launch in launches:
            for window in launch.windows:
                if windows in {"all", window.state}:
                    sums[window.position] += math.log(value(window))
                    attempts[window.position] += 1
        return np.where(attempts > 0, sums / np.maximum(attempts, 1), np.nan)

    def item_ns(window: WindowSummary) -> float:
        return window.window_ns / (window.calls * block.case.items)

    def of_arms(value: Callable[[WindowSummary], float]) -> Floats:
        if not arms:
            return np.full((*shape, 0), np.nan)
        return np.stack([lay_out(summary.launches, value) for summary in arms], axis=2)

    log_medians = of_arms(lambda window: window.median_ns)
    canary = lay_out(collect.summaries(block, block.canary, levels_of(block)), lambda window: window.median_ns)
    return Reduction(
        block=block,
        windows=windows,
        arms=arms,
        counting=count_windows(
            log_medians,
            [[bool(each.disturbed) for each in generation.rounds] for generation in block.generations],
            canary=None if np.isnan(canary).all() else canary,
        ),
        log_medians=log_medians,
        log_items=of_arms(item_ns),
    )


def _cold_ns(launch: Launch) -> float | None:
    return next((float(total_ns(startup)) for startup in collect.startups([launch])), None)
