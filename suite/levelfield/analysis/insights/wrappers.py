"""What a wrapper costs: a backend that computes by another framework, over that framework's own definition.

An arm wraps a framework where its own settings, read back, name its engine (`jax 0.10.2`). The framework's own arms are
those whose image is called as the engine is.
"""

from collections.abc import Iterable, Iterator

from levelfield.analysis import estimates
from levelfield.analysis.ending import ended_by
from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.types import BlockAnalysis, TimedBlock, WrapperCost
from levelfield.record.schema import Block, Run

ENGINE = "engine"
"""Setting that names the framework which computes, and its version."""


def derive(run: Run, blocks: Iterable[BlockAnalysis]) -> tuple[WrapperCost, ...]:
    """Return the cost of every wrapper, in every timed case that has its engine too."""
    pairs = zip(run.blocks, blocks, strict=True)
    timed = ((recorded, block) for recorded, block in pairs if isinstance(block, TimedBlock))
    return tuple(cost for recorded, block in timed for cost in _of(run, recorded, block))


def _of(run: Run, recorded: Block, block: TimedBlock) -> Iterator[WrapperCost]:
    engines = {row.arm: row.settings.get(ENGINE, "").partition(" ")[0] for row in block.rows if row.is_equal}
    if not any(engines.values()):
        return
    levels = launch_levels(recorded)
    arms = [arm for arm in recorded.arms if arm.id in engines]
    for arm in (each for each in arms if engines[each.id]):
        for other in (each for each in arms if each.image == engines[arm.id]):
            ratio = estimates.ratio(levels[arm.id], levels[other.id], ended=ended_by(run.settings, recorded.case))
            if ratio is not None:
                yield WrapperCost(block.case, arm.id, other.id, ratio)
