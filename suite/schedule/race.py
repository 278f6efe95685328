"""Which arms of a race are launched next: those whose lead becomes known soonest for the time that it takes.

The variance of a lead lies mostly between launches, and launches differ in their cost: `torch-compile` loads for
seconds, ONNX Runtime for a fifth of one. So an arm that is expensive to launch is launched less often, in proportion to
the inverse square root of its cost, which is the optimal allocation for a mean (Cochran 1977, section 5.5). The same
holds for an arm that is probably neither first nor second (`suite.statistics.racing.unlikely`).

References
----------
W. G. Cochran (1977). Sampling Techniques, 3rd edition. Wiley.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from suite.analysis.race import Race
from suite.record.schema import Block, Launch
from suite.schedule.launch_groups import LaunchGroup, by_launch
from suite.statistics.ending import EndedBy
from suite.statistics.student import fewest_launches, half_width

FEWEST_FIRST_PASSES, MOST_FIRST_PASSES = 1.2, 3.0
"""The time of a run whose races have their end from its profile, as multiples of what the first launches took: a slow
machine still has a race, and a small selection is measured soon."""
LONGEST_PAUSE = 4
"""An expensive arm is launched in one of so many generations at the least."""
FEWEST_TOGETHER = 2
"""Arms of a generation at the least: a launch is worth what it can be compared with."""


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

    Returns
    -------
    LaunchGroup
        One case, or all cases that the same launches serve: what narrows intervals most for its time.
    """
    best: LaunchGroup = []
    best_rate = 0.0
    for together in by_launch(blocks):
        launch_s = launch_seconds(together)
        racing = [_next_launches(block, races[block.case.id], launch_s) for block in together if _is_open(block, races)]
        alone = [[block] for block in racing]
        for chosen in [*alone, racing] if len(racing) > 1 else alone:
            cost_s = cost(chosen, launch_s, generation_s)
            rate = sum(map(_gain, chosen)) / max(cost_s, 1e-3)
            if cost_s <= left_s and rate > best_rate:
                best, best_rate = [(block, block.generations[-1].index + 1) for block in chosen], rate
    return best


def _is_open(block: Block, races: Mapping[str, Race]) -> bool:
    race = races.get(block.case.id)
    return race is not None and not race.settled and bool(race.arms)


def launch_seconds(blocks: Sequence[Block]) -> dict[str, float]:
    """Return how long the last launch of each arm took to start and load, in seconds, by id of the arm.

    Parameters
    ----------
    blocks
        Those that the same launches serve. A worker that had served another case had nothing to load, and a cold start
        compiles what later launches find compiled.
    """
    found: dict[str, float] = {}
    for block in blocks:
        if block.case.definition.first_calls:
            continue
        for generation in block.generations:
            for launch in generation.launches:
                if launch.startup is not None and not launch.served:
                    found[launch.arm] = _seconds(launch)
    return found


def _seconds(launch: Launch) -> float:
    startup = launch.startup
    if startup is None:
        return 0.0
    return (startup.start_ns + startup.import_ns + startup.weights_ns + startup.load_ns) / 1e9


def _next_launches(block: Block, race: Race, launch_s: Mapping[str, float]) -> Block:
    """Return a block with those of its racing arms that are launched in its next generation."""
    number = max(0, block.generations[-1].index + 1 - block.planned_generations)
    windows_s = _windows_seconds(block)
    costs_s = {arm: launch_s.get(arm, 0.0) + windows_s for arm in race.arms}
    cheap_s = sorted(costs_s[arm] for arm in race.arms if arm not in race.unlikely)[:FEWEST_TOGETHER][-1]
    pauses = {arm: LONGEST_PAUSE if arm in race.unlikely else pause(costs_s[arm], cheap_s) for arm in race.arms}
    launched = {arm for arm, every in pauses.items() if (number + 1) % every == 0}
    return msgspec.structs.replace(block, arms=tuple(arm for arm in block.arms if arm.id in launched))


def pause(cost_s: float, cheap_s: float) -> int:
    """Return in one of how many generations an arm is launched.

    Parameters
    ----------
    cost_s
        What its launch and its windows take, in seconds.
    cheap_s
        The same of the second cheapest arm, which takes part in all.
    """
    ratio = math.sqrt(cost_s / cheap_s) if cheap_s > 0 else 1.0
    return min(max(1, round(ratio)), LONGEST_PAUSE)


def _windows_seconds(block: Block) -> float:
    """Return what one arm's windows in the last generation of a block took, in seconds: the mean of its arms."""
    last = block.generations[-1]
    spent_ns = [turn.noise.elapsed_ns for each in last.rounds for turn in each.turns if turn.noise is not None]
    return sum(spent_ns) / 1e9 / max(1, len(last.launches))


def cost(together: Sequence[Block], launch_s: Mapping[str, float], generation_s: Mapping[str, float]) -> float:
    """Return what the next generation of blocks that share their launches takes, in seconds.

    Parameters
    ----------
    together
        Each with the arms that are launched.
    launch_s
        Seconds that a launch of each arm takes to start and load, by id of the arm.
    generation_s
        By case, what its last generation took, in seconds.
    """
    threads = together[0].case.threads
    launched = {arm.id for block in together for arm in block.arms}
    total_s = _side_by_side([launch_s.get(arm, 0.0) for arm in launched], threads)
    for block in together:
        last = block.generations[-1].launches
        loaded_s = [_seconds(launch) for launch in last if not launch.served]
        rest_s = max(0.0, generation_s.get(block.case.id, 0.0) - _side_by_side(loaded_s, threads))
        total_s += rest_s * len(block.arms) / max(1, len(last))
    return total_s


def _side_by_side(seconds: Sequence[float], threads: int) -> float:
    """Return how long loads take of which as many run at the same time as there are threads."""
    return max(sum(seconds) / max(1, threads), max(seconds, default=0.0))


def _gain(block: Block) -> float:
    """Return by which share one more generation narrows the intervals of a block.

    While too few generations have an undisturbed round, the others count too, and nothing is worth more than one more.
    """
    launches = sum(any(not round_.disturbed for round_ in each.rounds) for each in block.generations)
    if len(block.arms) < FEWEST_TOGETHER and launches:
        return 0.0
    if launches < fewest_launches(EndedBy.RACE):
        return 1.0
    now, then = (half_width(1.0, count, confidence=0.95) for count in (launches, launches + 1))
    return 1 - then / now
