"""How much of a step is spent waiting for data, where batches come from a dataset on disk."""

import statistics
from collections.abc import Iterable

import msgspec

from suite.analysis.types import ArmWait, BlockAnalysis, Estimate, Row, TimedBlock, Waiting
from suite.record.schema import Block, Generation, Run

FEED, WORKERS = "feed", "feed workers"
"""Settings in which an arm says how it reads."""


class _Spent(msgspec.Struct):
    """Of one launch."""

    waited_ns: int = 0
    window_ns: int = 0
    calls: int = 0


def derive(run: Run, blocks: Iterable[BlockAnalysis]) -> tuple[Waiting, ...]:
    """Return the waiting of every arm whose outputs are right, in every case that waits for data.

    Parameters
    ----------
    run, blocks
        A record, and the analysis of its blocks in the same order.
    """
    found: list[Waiting] = []
    for recorded, block in zip(run.blocks, blocks, strict=True):
        if not isinstance(block, TimedBlock):
            continue
        arms = tuple(
            wait
            for row in block.rows
            if row.standing in ("ranked", "shown") and row.parity is not None
            if (wait := _arm(recorded, row)) is not None
        )
        found += [Waiting(block.case, arms)] if arms else []
    return tuple(found)


def _arm(block: Block, row: Row) -> ArmWait | None:
    launches = [spent for generation in block.generations if (spent := _launch(generation, row.arm)).window_ns > 0]
    if not launches:
        return None
    shares = [spent.waited_ns / spent.window_ns for spent in launches]
    items = block.case.batch * sum(spent.calls for spent in launches)
    whole_ns = sum(spent.window_ns for spent in launches)
    step_ns = whole_ns - sum(spent.waited_ns for spent in launches)
    if step_ns <= 0:
        return None
    return ArmWait(
        arm=row.arm,
        share=Estimate(statistics.median(shares), min(shares), max(shares)),
        items_per_s=1e9 * items / whole_ns,
        step_items_per_s=1e9 * items / step_ns,
        feed=row.settings.get(FEED, ""),
        workers=row.settings.get(WORKERS, ""),
    )


def _launch(generation: Generation, arm: str) -> _Spent:
    """Sum an arm's windows in the rounds that count."""
    rounds = [each for each in generation.rounds if not each.disturbed] or list(generation.rounds)
    spent = _Spent()
    for turn in (turn for each in rounds for turn in each.turns if turn.arm == arm):
        window = turn.window
        if window is not None and window.waited_ns is not None and 0 <= window.waited_ns < window.window_ns:
            spent.waited_ns += window.waited_ns
            spent.window_ns += window.window_ns
            spent.calls += len(window.samples_ns)
    return spent
