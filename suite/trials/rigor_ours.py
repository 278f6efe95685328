"""Levelfield's own rule: two arms interleaved, launch-level t intervals of the ratio, and a margin.

Everything that decides is `suite.statistics`, as the product uses it: launch levels with the drift of the pair's rounds
removed, ratios paired by generation, intervals widened where precision may end the run, verdicts at a margin of 2 %.
"""

from collections.abc import Callable

import numpy as np

from suite.statistics.calm import which_count
from suite.statistics.levels import launch_levels
from suite.statistics.ratios import ratio_interval
from suite.statistics.stopping import DEFAULT_TARGET, decide
from suite.statistics.student import MIN_LAUNCHES
from suite.statistics.verdicts import DEFAULT_MARGIN, verdict_of
from suite.trials.rigor_table import Floats, Outcome, Rule, Said, Table

BUDGET_S = 180.0
"""Time that a pair may take: the goal that the rule is held against."""
CONFIDENCES = (0.95, 0.99)
EVERY = slice(None)


def rules(table: Table) -> list[Rule]:
    """Return our rule at several sizes, for both confidences: fixed numbers of generations, and until precise."""
    most = within_budget(table)
    sizes = sorted({size for size in (MIN_LAUNCHES, 2 * MIN_LAUNCHES, most) if MIN_LAUNCHES <= size <= most})
    source = "this repository, `suite.statistics`"
    found = []
    for confidence in CONFIDENCES:
        found += [
            Rule(
                f"Levelfield, {size} generations, {confidence:.0%}",
                f"{size} launches of each arm, {table.rounds} interleaved rounds in each",
                source,
                _fixed(size, confidence),
                ours=True,
            )
            for size in sizes
        ]
        found.append(
            Rule(
                f"Levelfield, until precise, {confidence:.0%}",
                f"generations of {table.rounds} interleaved rounds until the interval is ±{DEFAULT_TARGET:.0%}, "
                f"{BUDGET_S:.0f} s at the most",
                source,
                _until_precise(confidence),
                ours=True,
            )
        )
    return found


def generation_seconds(table: Table) -> Floats:
    """Return what each generation of each pair took, shape (generations, lanes)."""
    arms = table.launch_s[:, None] + table.wall_s.sum(axis=1)
    seconds: Floats = arms[:, 0::2] + arms[:, 1::2]
    return seconds


def within_budget(table: Table) -> int:
    """Return how many generations of a pair the budget has room for."""
    return int(BUDGET_S // float(generation_seconds(table).mean()))


def levels_of(table: Table, lane: int, factor: float = 1.0, generations: slice = EVERY) -> Floats:
    """Return the log levels of a pair's launches, shape (generations that count, 2), the second arm's times scaled.

    Of the generations asked for; rounds disturbed from outside are left out by the rule of `suite.statistics.calm`.
    """
    windows = np.log(table.median_ns[generations, :, 2 * lane : 2 * lane + 2])
    windows[:, :, 1] += np.log(factor)
    counts = np.array(which_count(table.disturbed[generations, :, lane].tolist()), dtype=bool).reshape(
        windows.shape[:2]
    )
    windows[~counts] = np.nan
    levels: Floats = launch_levels(windows)[counts.any(axis=1)]
    return levels


def _fixed(size: int, confidence: float) -> Callable[[Table, float], list[Outcome]]:
    def decide_all(table: Table, factor: float) -> list[Outcome]:
        seconds = generation_seconds(table)
        found = []
        for lane in range(table.lanes):
            for group in range(table.generations // size):
                chosen = slice(group * size, (group + 1) * size)
                said = _say(levels_of(table, lane, factor, chosen), confidence, sequential=False)
                found.append(Outcome(said, group, float(seconds[chosen, lane].sum())))
        return found

    return decide_all


def _until_precise(confidence: float) -> Callable[[Table, float], list[Outcome]]:
    """Decide, then begin anew with the next generation: each lane is a chain of decisions.

    What the end of the stream cuts off is dropped. A cluster is a stretch of the stream as long as a decision is on
    average, by where the decision's middle lies: lanes stop at different generations, so neighbours may share some.
    """

    def decide_all(table: Table, factor: float) -> list[Outcome]:
        seconds = generation_seconds(table)
        made: list[tuple[Said, int, int, float]] = []
        for lane in range(table.lanes):
            first = 0
            for end in range(1, table.generations + 1):
                spent = float(seconds[first:end, lane].sum())
                levels = levels_of(table, lane, factor, slice(first, end))
                decision = decide(
                    levels,
                    confidence=confidence,
                    spent_s=spent,
                    budget_s=BUDGET_S,
                    generation_s=float(seconds[end - 1, lane]),
                )
                if decision.reason is None or end - first < MIN_LAUNCHES:
                    continue
                made.append((_say(levels, confidence, sequential=True), first, end, spent))
                first = end
        stretch = float(np.mean([end - first for _, first, end, _ in made])) if made else 1.0
        return [Outcome(said, int((first + end) / 2 // stretch), spent) for said, first, end, spent in made]

    return decide_all


def _say(levels: Floats, confidence: float, *, sequential: bool) -> Said:
    interval = ratio_interval(levels[:, 1], levels[:, 0], confidence=confidence, sequential=sequential)
    said: Said = verdict_of(interval.low, interval.high, margin=DEFAULT_MARGIN).value
    return said
