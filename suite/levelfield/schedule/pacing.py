"""How much a run measures: rounds of a launch, by the results so far, and passes over all cases, by time alone.

Rounds are worth their time where the variance lies between windows, launches where it lies between launches (Kalibera &
Jones 2013). What looks at results is called between generations only.
"""

import math
from collections.abc import Sequence

import msgspec

from levelfield.analysis import launch_levels
from levelfield.plan.profiles import Profile
from levelfield.record.schema import Block, Settings
from levelfield.statistics.arrays import InsufficientData
from levelfield.statistics.power import optimal_rounds
from levelfield.statistics.variance import VarianceSplit, split_variance

FEWEST_ROUNDS = 2
"""Below this a launch cannot show its own spread between windows."""
MOST_ROUNDS = 24
"""Launch effects dominate long before; more would only delay the next look at the budget."""


TYPICAL = VarianceSplit(launch_sd=0.03, window_sd=0.048, round_sd=0.01, generations=0, rounds=0, arms=0)
"""Where the variance lies on a shared two-core machine, until a block shows its own: the medians over the 16 cases of
three default runs of November 2026 (the last is `6bbc` under `reports/`). Windows of a launch vary 1.6 times as much
as launches."""
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


FIRST_LOOK_S = 30.0
"""What `ab` measures before its first look: launches within less time may share one state of the machine."""
SLOWER = 1.25
"""A pass may take so many times as long as the one before it."""


class Clock(msgspec.Struct, frozen=True):
    """What decides by time alone how many passes there are."""

    seconds: float
    """No pass is begun that would end later."""
    fewest: int
    """Passes that are made in any case."""
    most: int | None
    """None: as many as there is time for."""

    def another(self, taken: int, spent_s: float, pass_s: float) -> bool:
        """Return whether another pass is begun."""
        if taken < self.fewest:
            return True
        return (self.most is None or taken < self.most) and spent_s + pass_s <= self.seconds

    def may_be_last(self, taken: int, spent_s: float, pass_s: float) -> bool:
        """Return whether none may follow the pass that begins now, should it take up to `SLOWER` times as long."""
        slow_s = SLOWER * pass_s
        return not self.another(taken + 1, spent_s + slow_s, slow_s)

    def rest_s(self, taken: int, spent_s: float, pass_s: float, *, planned_s: float) -> float:
        """Return how long the rest of a run may take, in seconds."""
        left_s = max(0.0, self.seconds - spent_s)
        if self.most is not None:
            left_s = min(left_s, (self.most - taken) * pass_s)
        return max(left_s, planned_s) if self.fewest > 1 else left_s


def clock(profile: Profile, settings: Settings, blocks: Sequence[Block]) -> Clock:
    """Return the clock of a run.

    Whoever names no budget gets the launches that a rank needs, and no more than a reader has use for.
    """
    planned = max((block.planned_generations for block in blocks), default=0)
    budget_s = settings.budget_seconds
    if settings.clock_seconds is not None:
        if budget_s is not None:
            return Clock(budget_s, fewest=1, most=None)
        return Clock(settings.clock_seconds, fewest=planned, most=max(planned, profile.most_generations))
    return Clock(math.inf if budget_s is None else budget_s, fewest=1, most=planned)


def apart_s(
    profile: Profile, settings: Settings, *, passes_left: int, spent_s: float, longest_s: float, alone: bool
) -> float:
    """Return how far apart generations of a case lie: pauses cost a verdict no time, and a budget no planned launch."""
    if alone and (settings.ends_on_verdict or settings.precision_target is not None):
        return 0.0
    if settings.budget_seconds is None or passes_left < 1:
        return profile.apart_seconds
    left_s = (settings.budget_seconds - spent_s) / passes_left - longest_s
    return min(profile.apart_seconds, max(0.0, left_s))


def completed(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of a run by the clock that goes on, the pass in which it was cut off planned for all."""
    most = max((sum(each.complete for each in block.generations) for block in blocks if block.case.timed), default=0)
    return tuple(
        msgspec.structs.replace(block, planned_generations=max(block.planned_generations, most))
        if block.case.timed
        else block
        for block in blocks
    )
