"""From a run whose arms are all combinations of two or three axes to main effects and interactions, with verdicts."""

from collections.abc import Sequence

import msgspec

from suite.analysis.ending import ended_by
from suite.analysis.launch_levels import level_matrix
from suite.compare.effects import from_pairs
from suite.compare.types import Gate
from suite.compare.verdicts import Judgement, change_policy, judge
from suite.record.schema import Block, Case, Run
from suite.statistics.errors import InsufficientData
from suite.statistics.factorial import FactorialEffect, factorial_effects


class CrossEffect(msgspec.Struct, frozen=True):
    """What one axis, or several together, do to the cost of one case."""

    case: Case
    axes: tuple[str, ...]
    """One for a main effect, which is averaged over the other axes; more for an interaction."""
    judgement: Judgement


def judge_cross(run: Run, axes: Sequence[str], gate: Gate) -> tuple[CrossEffect, ...]:
    """Judge all effects in all timed cases together: verdicts are corrected for their number.

    Parameters
    ----------
    run
        The record, finished or in progress. The arms of each block are the combinations of the axes, in the order of
        `suite.statistics.factorial.combinations`. Cases without enough complete generations are left out.
    axes
        Names of the two or three axes.
    gate
        The margin is that of interactions, too: they are ratios of ratios.

    Raises
    ------
    ValueError
        There are fewer than two axes or more than three, or a block has another number of arms.
    """
    found = [
        (block.case, effect) for block in run.blocks if block.case.timed for effect in _effects(run, block, len(axes))
    ]
    judged = judge([from_pairs(effect.mean) for _, effect in found], change_policy(gate))
    return tuple(
        CrossEffect(case, tuple(axes[index] for index in effect.axes), judgement)
        for (case, effect), judgement in zip(found, judged, strict=True)
    )


def _effects(run: Run, block: Block, axes: int) -> tuple[FactorialEffect, ...]:
    try:
        return factorial_effects(level_matrix(block), axes=axes, ended=ended_by(run.settings, block.case))
    except InsufficientData:
        return ()
