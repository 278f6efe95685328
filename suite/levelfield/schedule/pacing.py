"""How many rounds a launch is worth: a pure function of a block's results so far, called between generations only.

Rounds are worth their time where the variance lies between windows, launches where it lies between launches (Kalibera &
Jones 2013).
"""

import math

import msgspec

from levelfield.analysis import launch_levels
from levelfield.record.schema import Block
from levelfield.statistics.arrays import InsufficientData
from levelfield.statistics.power import optimal_rounds
from levelfield.statistics.variance import VarianceSplit, split_variance

FEWEST_ROUNDS = 2
"""Below this a launch cannot show its own spread between windows."""
MOST_ROUNDS = 24
"""Launch effects dominate long before; more would only delay the next look at the budget."""


TYPICAL = VarianceSplit(launch_sd=0.03, window_sd=0.048, round_sd=0.01, generations=0, rounds=0, arms=0)
"""Where the variance lies on a shared two-core machine, until a block shows its own: the medians over the 16 cases of
published default runs (`22a3`, `a2f1` and `6bbc` under `reports/`). Windows of a launch vary 1.6 times as much as
launches. A test computes these figures again."""
WEIGHT = 4
"""Generations that `TYPICAL` counts for: of a few, the estimate of a variance between launches may be zero."""


def split(block: Block) -> VarianceSplit:
    """Return where a block's variance lies: `TYPICAL` at first, and more and more what the block itself shows."""
    try:
        own = split_variance(launch_levels.reduce(block).log_counted)
    except InsufficientData:
        return TYPICAL
    share = own.generations / (own.generations + WEIGHT)

    def between(typical: float, found: float) -> float:
        return math.sqrt((1 - share) * typical**2 + share * found**2)

    return msgspec.structs.replace(
        own,
        launch_sd=between(TYPICAL.launch_sd, own.launch_sd),
        window_sd=between(TYPICAL.window_sd, own.window_sd),
    )


def rounds_for(block: Block, *, launch_s: float, window_s: float) -> int:
    """Return how many rounds the next generation of a block is worth.

    `launch_s`, `window_s`: what one arm's launch and one of its windows cost, in seconds; zero: not known yet, or
    nothing.
    """
    if launch_s <= 0 or window_s <= 0:
        return FEWEST_ROUNDS
    best = optimal_rounds(split(block), launch_seconds=launch_s, window_seconds=window_s)
    return min(max(best, FEWEST_ROUNDS), MOST_ROUNDS)


def rounds_within(rounds: int, *, seconds: float, launch_s: float, round_s: float) -> int:
    """Return how many rounds of a generation fit into its share of a budget: launches come before rounds.

    `seconds`: share of the budget that one generation has.
    """
    if round_s <= 0 or math.isinf(seconds):
        return rounds
    return int(min(rounds, max(FEWEST_ROUNDS, (seconds - launch_s) // round_s)))
