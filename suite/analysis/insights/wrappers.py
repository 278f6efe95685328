"""What a wrapper costs: a backend that computes by another framework, over that framework's own definition."""

from collections.abc import Iterable, Iterator

from suite.analysis import estimates
from suite.analysis.ending import ended_by
from suite.analysis.launch_levels import launch_levels
from suite.analysis.types import BlockAnalysis, TimedBlock, WrapperCost
from suite.backends import registry
from suite.record.schema import Arm, Block, Run


def derive(run: Run, blocks: Iterable[BlockAnalysis]) -> tuple[WrapperCost, ...]:
    """Return the cost of every wrapper, in every timed case that has its engine too.

    Parameters
    ----------
    run, blocks
        A record, and the analysis of its blocks in the same order.
    """
    pairs = zip(run.blocks, blocks, strict=True)
    timed = ((recorded, block) for recorded, block in pairs if isinstance(block, TimedBlock))
    return tuple(cost for recorded, block in timed for cost in _of(run, recorded, block))


def _of(run: Run, recorded: Block, block: TimedBlock) -> Iterator[WrapperCost]:
    equal = {row.arm for row in block.rows if row.is_equal}
    arms = [arm for arm in recorded.arms if arm.id in equal]
    levels = launch_levels(recorded)
    for arm in arms:
        wraps = _wrapped(arm)
        for other in (each for each in arms if wraps and each.backend in wraps):
            ratio = estimates.ratio(levels[arm.id], levels[other.id], ended=ended_by(run.settings, recorded.case))
            if ratio is not None:
                yield WrapperCost(block.case, arm.id, other.id, ratio)


def _wrapped(arm: Arm) -> tuple[str, ...]:
    """Return the backends that are what an arm wraps: its engine, in every mode that it has here; empty: it wraps none.

    A backend of a record that this release does not know wraps none.
    """
    known = registry.all_names()
    wraps = registry.get(arm.backend).wraps if arm.backend in known else ""
    return tuple(name for name in known if wraps and registry.get(name).image == registry.get(wraps).image)
