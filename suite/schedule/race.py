"""Which arms of a race are launched next: those whose lead becomes known soonest for the time that it takes."""

from collections.abc import Mapping, Sequence

import msgspec

from suite.analysis.race import Race
from suite.record.schema import Block
from suite.schedule.launch_groups import LaunchGroup, by_launch
from suite.statistics.ending import EndedBy
from suite.statistics.student import fewest_launches, half_width

FEWEST_FIRST_PASSES, MOST_FIRST_PASSES = 1.25, 3.0
"""The time of a run whose races have their end from its profile, as multiples of what the first launches took: a slow
machine still has a race, and a small selection is measured soon."""


def seconds_for(race_seconds: float, first_pass_s: float, budget_s: float | None) -> float:
    """Return how long a run may measure before its races end, in seconds from its beginning.

    Parameters
    ----------
    race_seconds
        What the profile says.
    first_pass_s
        What the first launches of all arms have taken.
    budget_s
        What the user said; None: nothing.
    """
    if budget_s is not None:
        return budget_s
    return min(max(race_seconds, FEWEST_FIRST_PASSES * first_pass_s), MOST_FIRST_PASSES * first_pass_s)


def next_group(
    blocks: Sequence[Block], races: Mapping[str, Race], generation_s: Mapping[str, float], left_s: float
) -> LaunchGroup:
    """Return the generations that are measured next; empty: the races are over.

    Parameters
    ----------
    blocks
        All blocks of the run so far.
    races
        By case, after the last generation of each; blocks that are not here do not race.
    generation_s
        By case, what its last generation took, in seconds.
    left_s
        Seconds until the races end.
    """
    open_blocks = [
        msgspec.structs.replace(block, arms=tuple(arm for arm in block.arms if arm.id in race.arms))
        for block in blocks
        if (race := races.get(block.case.id)) is not None and not race.settled and race.arms
    ]
    best: LaunchGroup = []
    best_rate = 0.0
    for together in by_launch(open_blocks):
        cost_s = sum(_cost_s(block, generation_s) for block in together)
        rate = sum(map(_gain, together)) / max(cost_s, 1e-3)
        if cost_s <= left_s and rate > best_rate:
            best, best_rate = [(block, block.generations[-1].index + 1) for block in together], rate
    return best


def _cost_s(block: Block, generation_s: Mapping[str, float]) -> float:
    """Return what the next generation of a block may cost: as the last one, for as many arms as are left."""
    launched = len(block.generations[-1].launches) or 1
    return generation_s.get(block.case.id, 0.0) * min(1.0, len(block.arms) / launched)


def _gain(block: Block) -> float:
    """Return by which share one more generation narrows the intervals of a block.

    While too few generations have an undisturbed round, the others count too, and nothing is worth more than one more.
    """
    launches = sum(any(not round_.disturbed for round_ in each.rounds) for each in block.generations)
    if launches < fewest_launches(EndedBy.RACE):
        return 1.0
    now, then = (half_width(1.0, count, confidence=0.95) for count in (launches, launches + 1))
    return 1 - then / now
