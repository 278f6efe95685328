"""Levelfield's own rules: two arms interleaved, launch-level t intervals of the ratio, and a margin.

Everything that decides is what the product uses: which windows count (`suite.statistics.counting`), launch levels with
the drift of the pair's rounds removed, when to stop (`suite.statistics.stopping`), and what is then said: by `bench` of
an interval, by `ab` of a case at a false discovery rate (`suite.compare.verdicts`). Each row is named after the
command that does this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from studies.rigor.record import Answer, Floats, Outcome, Rule, Table
from studies.rigor.rules import Rules
from suite.compare.effects import from_pairs
from suite.compare.types import Gate
from suite.compare.verdicts import change_policy, judge
from suite.statistics.counting import Counting, count_windows
from suite.statistics.ending import EndedBy
from suite.statistics.levels import levels_of_windows
from suite.statistics.ratios import ratio_interval
from suite.statistics.stopping import decide
from suite.statistics.verdicts import Verdict, verdict_of

SOURCE = "this repository, `suite.statistics`"

Judge = Callable[[Floats], Answer]
"""From launch levels, shape (generations, 2), to the answer on the second arm."""


@dataclass(frozen=True)
class Decision:
    """One decision on one pair, which shares no launch with any other."""

    answer: Answer
    """On the second arm, in comparison with the first."""
    lane: int
    first: int
    """Its first generation."""
    end: int
    """The generation after its last."""
    seconds: float
    """Machine time of its launches and windows."""

    @property
    def generations(self) -> int:
        return self.end - self.first


def rules(table: Table, frozen: Rules) -> list[Rule]:
    """Return what `ab` and `bench` do with two arms; a row's name is the command."""
    stop = frozen.stop
    until = (
        f"generations of {table.rounds} interleaved rounds until the {stop.confidence:.0%} interval is "
        f"±{stop.half_width:.0%}, {stop.budget_s:.0f} s at the most"
    )
    ends = until
    if frozen.verdict is not None:
        ends = (
            f"generations of {table.rounds} interleaved rounds until there is a verdict, with a look after "
            f"each from number {frozen.verdict.first_look} on, {stop.budget_s:.0f} s at the most"
        )
    rounds = f"{table.rounds} interleaved rounds"
    level = f"{frozen.judge.bench_confidence:.0%}"
    minutes = f"{stop.budget_s / 60:g}m"
    rows: list[tuple[str, str, Callable[[Table, float], list[Outcome]]]] = [
        (
            f"ab --budget {minutes}",
            f"{ends}; judged at a false discovery rate of {frozen.judge.ab_false_discovery_rate:.0%}",
            partial(_until, frozen, partial(as_ab, frozen=frozen), fewest(frozen), partial(_ab_ends, frozen)),
        ),
        (
            f"bench --precision-target {stop.half_width:.0%} --budget {minutes}",
            f"{until}; judged by that interval",
            partial(
                _until,
                frozen,
                partial(as_bench, frozen=frozen, ended=EndedBy.PRECISION),
                stop.fewest_launches,
                partial(_is_precise, frozen),
            ),
        ),
        *(
            (
                f"bench, {size} launches",
                f"{size} launches of each arm, {rounds} in each; judged by the {level} interval",
                partial(_fixed, size, partial(as_bench, frozen=frozen, ended=EndedBy.PLAN)),
            )
            for size in frozen.launches.bench
        ),
    ]
    return [Rule(name, schedule, SOURCE, decide, ours=True) for name, schedule, decide in rows]


def as_ab(levels: Floats, frozen: Rules) -> Answer:
    """Return what `ab` says of its only case."""
    ended = EndedBy.PRECISION if frozen.verdict is None else EndedBy.VERDICT
    effect = from_pairs(ratio_interval(levels[:, 1], levels[:, 0], ended=ended).mean)
    policy = change_policy(Gate(margin=frozen.judge.margin, q=frozen.judge.ab_false_discovery_rate))
    answer: Answer = judge([effect], policy)[0].verdict.value
    return answer


def as_bench(levels: Floats, frozen: Rules, *, ended: EndedBy) -> Answer:
    """Return what `bench` says of an arm that stands beside another."""
    interval = ratio_interval(levels[:, 1], levels[:, 0], confidence=frozen.judge.bench_confidence, ended=ended)
    answer: Answer = verdict_of(interval.low, interval.high, margin=frozen.judge.margin).value
    return answer


def generation_seconds(table: Table) -> Floats:
    """Return what each generation of each pair took, shape (generations, lanes)."""
    arms = table.launch_s[:, None] + table.wall_s.sum(axis=1)
    seconds: Floats = arms[:, 0::2] + arms[:, 1::2]
    return seconds


def levels_of(table: Table, lane: int, factor: float = 1.0, generations: slice = slice(None)) -> Floats:
    """Return the log levels of a pair's launches.

    As `suite.analysis.launch_levels.level_matrix` returns them of a block of these two arms and the canary.
    """
    windows, counting = _counting(table, lane, factor, generations)
    levels: Floats = levels_of_windows(np.where(counting.windows, windows, np.nan))[counting.rounds.any(axis=1)]
    return levels


def pair_windows(table: Table, lane: int, factor: float = 1.0, generations: slice = slice(None)) -> Floats:
    """Return the log windows of a pair."""
    windows = np.log(table.median_ns[generations, :, 2 * lane : 2 * lane + 2])
    windows[:, :, 1] += np.log(factor)
    return windows


def _counting(table: Table, lane: int, factor: float, generations: slice) -> tuple[Floats, Counting]:
    windows = pair_windows(table, lane, factor, generations)
    canary = np.log(table.canary_ns[generations]) if table.canary_ns is not None else None
    return windows, count_windows(windows, table.disturbed[generations, :, lane].tolist(), canary=canary)


def _fixed(size: int, judge: Judge, table: Table, factor: float) -> list[Outcome]:
    """Decide after so many generations each."""
    seconds = generation_seconds(table)
    outcomes = []
    for lane in range(table.lanes):
        for group in range(table.generations // size):
            chosen = slice(group * size, (group + 1) * size)
            answer = judge(levels_of(table, lane, factor, chosen))
            outcomes.append(Outcome(answer, group, float(seconds[chosen, lane].sum())))
    return outcomes


def _is_precise(frozen: Rules, levels: Floats) -> bool:
    stop = frozen.stop
    return decide(levels, target=stop.half_width, confidence=stop.confidence).precise


def _ab_ends(frozen: Rules, levels: Floats) -> bool:
    if frozen.verdict is None:
        return _is_precise(frozen, levels)
    return as_ab(levels, frozen) != Verdict.INCONCLUSIVE.value


def fewest(frozen: Rules) -> int:
    """Return after how many launches `ab` looks at a pair for the first time."""
    return frozen.stop.fewest_launches if frozen.verdict is None else frozen.verdict.first_look


def as_outcomes(decisions: Sequence[Decision]) -> list[Outcome]:
    """Return decisions with their clusters.

    A cluster is a stretch of the stream as long as a decision is on average, by where the decision's middle lies: lanes
    stop at different generations, so neighbours may share some.
    """
    stretch = float(np.mean([each.generations for each in decisions])) if decisions else 1.0
    return [Outcome(each.answer, int((each.first + each.end) / 2 // stretch), each.seconds) for each in decisions]


def _until(
    frozen: Rules, judge: Judge, least: int, ends: Callable[[Floats], bool], table: Table, factor: float
) -> list[Outcome]:
    """Decide when a rule or the budget in seconds ends a pair."""

    def spent(seconds: Floats) -> bool:
        return float(seconds.sum() + seconds[-1]) > frozen.stop.budget_s

    return as_outcomes(_chain(judge, least, ends, spent, table, factor))


def _chain(
    judge: Judge,
    least: int,
    ends: Callable[[Floats], bool],
    spent: Callable[[Floats], bool],
    table: Table,
    factor: float,
) -> list[Decision]:
    """Decide when a rule or the budget ends a pair, then begin anew with the next generation: a chain in each lane.

    What the end of the stream cuts off is dropped.
    """
    seconds = generation_seconds(table)
    made: list[Decision] = []
    for lane in range(table.lanes):
        first = 0
        for end in range(1, table.generations + 1):
            if end - first < least:
                continue
            levels = levels_of(table, lane, factor, slice(first, end))
            taken = seconds[first:end, lane]
            if levels.shape[0] >= least and (ends(levels) or spent(taken)):
                made.append(Decision(judge(levels), lane, first, end, float(taken.sum())))
                first = end
    return made
