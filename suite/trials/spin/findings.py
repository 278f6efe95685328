"""What the windows of the spin trial say: how often a first call is slow, by the arm before it and by the rule."""

from collections.abc import Sequence

import numpy as np

from suite.plan import CANARY
from suite.statistics.proportions import Proportion, proportion
from suite.trials.spin.record import RULES, Cell, Finding, Rule, Verdict, Warming, Window

SLOW = 1.1
"""A first call is slow where it takes more than this times the median of the window's later calls."""
SPINNING = "onnxruntime"


def find(cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """Count the windows of all frameworks, and those of the canary by themselves, by rule and by the arm before."""
    return tuple(
        _finding(cell, rule, before, arms, windows)
        for cell in cells
        for rule in RULES
        for before in cell.arms
        for arms in (tuple(arm for arm in cell.arms if arm != CANARY), (CANARY,))
        if (windows := _windows(cell, rule, before, arms))
    )


def judge(cells: Sequence[Cell]) -> tuple[Verdict, ...]:
    """Compare the windows after ONNX Runtime with those after the canary, over the arms that can follow both."""
    found: list[Verdict] = []
    for cell in cells:
        common = tuple(arm for arm in cell.arms if arm not in {SPINNING, CANARY})
        for rule in RULES:
            after = [_windows(cell, rule, before, common) for before in (SPINNING, CANARY)]
            if not all(after):
                continue
            spinning, calm = map(_slow, after)
            found.append(Verdict(cell.case.model, rule, common, spinning, calm, holds=spinning.share <= calm.high))
    return tuple(found)


def warming(cells: Sequence[Cell]) -> tuple[Warming, ...]:
    """Return how an arm's calls become fast in windows that begin without unrecorded calls."""
    found: list[Warming] = []
    for cell in cells:
        for arm in cell.arms:
            windows = [each for each in cell.windows if each.arm == arm and each.rule == "until still, no warm call"]
            if not windows:
                continue
            count = min(len(each.first_ns) for each in windows)
            ratios = np.median([[ns / each.later_ns for ns in each.first_ns[:count]] for each in windows], axis=0)
            found.append(Warming(cell.case.model, arm, len(windows), tuple(float(ratio) for ratio in ratios)))
    return tuple(found)


def _slow(windows: Sequence[Window]) -> Proportion:
    """Return the share of windows whose first call is slow."""
    return proportion(sum(each.first_ns[0] > SLOW * each.later_ns for each in windows), len(windows))


def _windows(cell: Cell, rule: Rule, before: str, arms: Sequence[str]) -> list[Window]:
    return [each for each in cell.windows if each.rule == rule and each.before == before and each.arm in arms]


def _finding(cell: Cell, rule: Rule, before: str, arms: tuple[str, ...], windows: Sequence[Window]) -> Finding:
    return Finding(
        model=cell.case.model,
        rule=rule,
        before=before,
        of=arms,
        slow=_slow(windows),
        mean_excess=float(np.mean([window.first_ns[0] / window.later_ns for window in windows]) - 1),
        waited_ns=float(np.median([window.waited_ns for window in windows])),
    )
