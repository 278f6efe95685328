"""Ratios between identical arms: this run's control, pooled with those of the runs before it."""

from collections.abc import Iterable

from levelfield.analysis import estimates
from levelfield.analysis.types import BlockAnalysis, PooledControls, TimedBlock
from levelfield.record.schema import ControlDraw, Run
from levelfield.statistics.proportions import proportion


def draws(run: Run, blocks: Iterable[BlockAnalysis]) -> tuple[ControlDraw, ...]:
    """Return the ratios that this run measured between identical arms."""
    return tuple(
        ControlDraw(
            run=run.id,
            started=run.started,
            arm=control.of,
            case=block.case.id,
            ratio=control.ratio.value,
            low=control.ratio.low,
            high=control.ratio.high,
        )
        for block in blocks
        if isinstance(block, TimedBlock)
        for control in block.controls
    )


def pool(run: Run, blocks: Iterable[BlockAnalysis]) -> PooledControls | None:
    """Pool the controls of this run with those of the runs before it.

    Returns none where there are none.
    """
    own = draws(run, blocks)
    found = [*own, *(draw for draw in run.earlier_controls if draw.run != run.id)]
    ratio = estimates.level([draw.ratio for draw in found])
    if not found or ratio is None:
        return None
    bounds = [(draw.low, draw.high) for draw in found]
    judged = [low > 1 or high < 1 for low, high in bounds if low is not None and high is not None]
    return PooledControls(len(found), proportion(sum(judged), len(judged)) if judged else None, ratio)
