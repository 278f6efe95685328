"""How much of a step is spent waiting for data, where batches come from a dataset on disk."""

import itertools
import statistics
from collections.abc import Iterable, Iterator

from levelfield.analysis.types import ArmWait, BlockAnalysis, Estimate, Row, TimedBlock, Waiting
from levelfield.record.schema import Block, Run, Window
from levelfield.statistics.counting import counted_rounds

FEED, WORKERS = "feed", "feed workers"
"""Settings in which an arm says how it reads."""


def derive(run: Run, blocks: Iterable[BlockAnalysis]) -> tuple[Waiting, ...]:
    """Return the waiting of every arm whose outputs are right, in every case that waits for data."""
    found: list[Waiting] = []
    for recorded, block in zip(run.blocks, blocks, strict=True):
        if not isinstance(block, TimedBlock):
            continue
        arms = tuple(wait for row in block.rows if row.is_equal if (wait := _arm(recorded, row)) is not None)
        found += [Waiting(block.case, arms)] if arms else []
    return tuple(found)


def _arm(block: Block, row: Row) -> ArmWait | None:
    launches = [windows for windows in _counted(block, row.arm) if windows]
    if not launches:
        return None
    shares = [_waited_ns(windows) / _duration_ns(windows) for windows in launches]
    windows = [window for launch in launches for window in launch]
    items = block.case.batch * sum(window.calls for window in windows)
    return ArmWait(
        arm=row.arm,
        share=Estimate(statistics.median(shares), min(shares), max(shares)),
        items_per_s=1e9 * items / _duration_ns(windows),
        step_items_per_s=1e9 * items / (_duration_ns(windows) - _waited_ns(windows)),
        feed=row.settings.get(FEED, ""),
        workers=row.settings.get(WORKERS, ""),
    )


def _counted(block: Block, arm: str) -> Iterator[list[Window]]:
    """Yield, for each generation, the windows of an arm that waited for data, in the rounds that count."""
    counted = counted_rounds([[bool(each.disturbed) for each in generation.rounds] for generation in block.generations])
    for generation, counts in zip(block.generations, counted, strict=True):
        rounds = itertools.compress(generation.rounds, counts)
        windows = (turn.window for each in rounds for turn in each.turns if turn.arm == arm)
        yield [
            window
            for window in windows
            if window is not None and window.waited_ns is not None and 0 <= window.waited_ns < window.window_ns
        ]


def _waited_ns(windows: Iterable[Window]) -> int:
    return sum(window.waited_ns or 0 for window in windows)


def _duration_ns(windows: Iterable[Window]) -> int:
    return sum(window.window_ns for window in windows)
