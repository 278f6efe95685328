"""The race of a block so far: which arms leave it, which continue, and how well the lead is known."""

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from suite.analysis import eligibility, estimates, ranks, timed_windows
from suite.analysis.estimates import Levels
from suite.analysis.launch_levels import reduce
from suite.record.schema import Block, Left, Run
from suite.statistics import racing, ranking
from suite.statistics.arrays import Floats
from suite.statistics.ending import EndedBy

LEAD_PRECISION = 0.02
"""Half-width of the interval of the second's ratio to the best, log scale, from which a race is over."""
LEAD_SHARE = 0.05
"""The same as a share of the lead itself: a ratio of three need not be known to 2 %."""

_OUT = frozenset({"unequal", "failed", "absent"})
"""Standings of arms that no further launch would rank."""


class Race(msgspec.Struct, frozen=True):
    """One block's race after a generation."""

    arms: tuple[str, ...]
    """Arms that are launched again: contenders, and the control of a contender."""
    leaving: tuple[Left, ...]
    """Arms that leave now."""
    half_width: float | None
    """Half-width of the interval of the second's ratio to the best, log scale; None: there are too few launches."""
    settled: bool
    """Whether the race is over: one contender, or the lead is precise, now and one generation before."""
    unlikely: frozenset[str] = frozenset()
    """Arms that are probably neither first nor second; they are launched less often."""


def races(run: Run) -> dict[str, Race]:
    """Return the race of each block that is timed in windows, by the id of its case.

    Parameters
    ----------
    run
        The record so far.
    """
    known = eligibility.parities(run)
    return {block.case.id: _race(block, known, run.settings.margin) for block in run.blocks if block.case.timed}


def _race(block: Block, known: eligibility.Known, margin: float) -> Race:
    rows = timed_windows.analyse(block, known, margin=margin, ended=EndedBy.RACE).rows
    gone = {left.arm for left in block.left}
    out = {row.arm for row in rows if row.standing in _OUT} | _given_up(block) | gone
    ranked = [arm.id for arm in block.arms if any(row.arm == arm.id and row.rank is not None for row in rows)]
    compared = reduce(block).compared
    levels = estimates.matrix({arm: compared[arm] for arm in ranked})
    leaving = _leaving(block, ranked, _undisturbed(block, {arm: compared[arm] for arm in ranked}), gone)
    gone |= {left.arm for left in leaving}
    contenders = [number for number, arm in enumerate(ranked) if arm not in gone]
    missing = any(
        arm.id not in out and arm.id not in ranked and ranks.original(arm, block) is None for arm in block.arms
    )
    leads = [_lead(each, ranked, contenders, margin) for each in (levels, levels[:-1])]
    precise = all(lead is not None and lead.half_width <= lead.target for lead in leads)
    return Race(
        arms=tuple(arm.id for arm in block.arms if arm.id not in out | gone),
        leaving=leaving,
        half_width=None if leads[0] is None else leads[0].half_width,
        settled=not missing and (len(contenders) <= 1 or precise),
        unlikely=frozenset(ranked[arm] for arm in racing.unlikely(levels, contenders)) if ranked else frozenset(),
    )


def _given_up(block: Block) -> set[str]:
    """Return the arms whose last launch failed and that were not launched again in the last generation."""
    last = {launch.arm: launch for generation in block.generations for launch in generation.launches}
    launched = {launch.arm for generation in block.generations[-1:] for launch in generation.launches}
    failed = {turn.arm for each in block.generations for round_ in each.rounds for turn in round_.turns if turn.failure}
    return {
        arm.id
        for arm in block.arms
        if arm.id not in launched and (arm.id not in last or last[arm.id].failure is not None or arm.id in failed)
    }


def _undisturbed(block: Block, compared: Levels) -> Floats:
    """Return the log levels of generations that have an undisturbed round, shape (generations, arms).

    Others count only while there are too few of these. What an arm left for has to count in the end.
    """
    kept = [each.index for each in block.generations if any(not round_.disturbed for round_ in each.rounds)]
    return estimates.matrix(compared, kept)


def _leaving(block: Block, ranked: Sequence[str], levels: Floats, gone: set[str]) -> tuple[Left, ...]:
    """Return the arms that leave, and with each the repetition that is its control."""
    if not ranked:
        return ()
    still = [number for number, arm in enumerate(ranked) if arm not in gone]
    launches = Counter(launch.arm for generation in block.generations for launch in generation.launches)
    found = {
        ranked[arm]: Left(ranked[arm], launches[ranked[arm]], tuple(ranked[each] for each in ahead))
        for arm, ahead in racing.leaving(levels, still).items()
    }
    controls = [
        Left(arm.id, launches[arm.id], ())
        for arm in block.arms
        if ranks.original(arm, block) in found and arm.id not in gone and arm.id not in found
    ]
    return (*found.values(), *controls)


class _Lead(msgspec.Struct, frozen=True):
    half_width: float
    """Of the logarithm of the second's ratio to the best."""
    target: float
    """What is narrow enough."""


def _lead(levels: Floats, ranked: Sequence[str], contenders: Sequence[int], margin: float) -> _Lead | None:
    """Return how well the lead of the best over the second is known; None where there are too few launches."""
    if not ranked:
        return None
    gone = [number for number in range(len(ranked)) if number not in contenders]
    found = ranking.rank(levels, margin=margin, ended=EndedBy.RACE, left=gone)
    ratios = [(each.ratio or math.inf, each.low, each.high) for each in found if each.arm in contenders]
    if len(ratios) < 2:
        return None
    ratio, low, high = sorted(ratios, key=lambda each: each[0])[1]
    if low is None or high is None:
        return None
    return _Lead(math.log(high / low) / 2, max(LEAD_PRECISION, LEAD_SHARE * math.log(ratio)))
