"""How much more to measure: a pure function of what a block has shown so far, asked between generations only.

Rounds are worth their time where the variance lies between windows, launches where it lies between launches (Kalibera &
Jones 2013). A block is finished when every ratio is as precise as was asked, or the budget is spent; never because a
difference became significant.
"""

import math
import statistics

import numpy as np
from numpy.typing import NDArray

from suite.records.schema import Block, Round
from suite.statistics.calm import which_count
from suite.statistics.errors import InsufficientData
from suite.statistics.levels import launch_levels
from suite.statistics.power import optimal_rounds
from suite.statistics.stopping import Decision, decide
from suite.statistics.variance import VarianceSplit, split_variance

FEWEST_ROUNDS = 2
"""Below this a launch cannot show its own spread between windows."""
MOST_ROUNDS = 24
"""Launch effects dominate long before; more would only delay the next look at the budget."""


def log_windows(block: Block) -> NDArray[np.float64]:
    """Return the log of every window's median call, shape (generations, rounds, arms); NaN where there is none.

    Rounds that do not count are left out (`suite.statistics.calm`), and generations of which no round does.
    """
    arms = [arm.id for arm in block.arms]
    counts = which_count([[bool(each.disturbed) for each in generation.rounds] for generation in block.generations])
    generations = [
        [_medians(each) for each, counting in zip(generation.rounds, of_rounds, strict=True) if counting]
        for generation, of_rounds in zip(block.generations, counts, strict=True)
        if any(of_rounds) or not generation.rounds
    ]
    rounds = max((len(generation) for generation in generations), default=0)
    table = np.full((len(generations), rounds, len(arms)), np.nan)
    for g, taken in enumerate(generations):
        for r, medians in enumerate(taken):
            for a, arm in enumerate(arms):
                table[g, r, a] = medians.get(arm, math.nan)
    return table


def _medians(entry: Round) -> dict[str, float]:
    return {
        turn.arm: math.log(max(statistics.median(turn.window.samples_ns), 1))
        for turn in entry.turns
        if turn.window is not None and turn.window.samples_ns
    }


def split(block: Block) -> VarianceSplit | None:
    """Return where a block's variance lies; None while it has too little to say."""
    try:
        return split_variance(log_windows(block))
    except InsufficientData:
        return None


def rounds_for(block: Block, *, launch_s: float, window_s: float, otherwise: int) -> int:
    """Return how many rounds the next generation of a block is worth.

    Parameters
    ----------
    block
        With the generations it has.
    launch_s, window_s
        What one arm's launch and one of its windows cost, in seconds; zero: not known yet.
    otherwise
        Rounds as long as the variance is not known.
    """
    known = split(block)
    if known is None or launch_s <= 0 or window_s <= 0:
        return otherwise
    best = optimal_rounds(known, launch_seconds=launch_s, window_seconds=window_s)
    return min(max(best, FEWEST_ROUNDS), MOST_ROUNDS)


def finished(block: Block, *, target: float, spent_s: float, budget_s: float | None, generation_s: float) -> Decision:
    """Decide whether a block needs another generation; see `suite.statistics.stopping.decide`."""
    return decide(
        launch_levels(log_windows(block)),
        target=target,
        spent_s=spent_s,
        budget_s=budget_s,
        generation_s=generation_s,
    )
