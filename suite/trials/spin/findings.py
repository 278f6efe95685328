"""What the windows of the spin trial say: how often a first call is slow, by the arm before it and by the rule."""

from collections.abc import Iterator, Sequence

import numpy as np

from suite.plan import CANARY
from suite.statistics.proportions import proportion
from suite.trials.spin.record import RULES, Cell, Finding, Rule, Verdict, Warming, Window

SLOW = 1.1
"""A first call is slow where it takes more than this times the median of the window's later calls."""
SPINNING = "onnxruntime"


def find(cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """Count the windows of all frameworks, and those of the canary by themselves, by rule and by the arm before."""
    found: list[Finding] = []
    for cell in cells:
        for rule in RULES:
            for before in cell.arms:
                frameworks = tuple(arm for arm in cell.arms if arm != CANARY)
                found += _finding(cell, rule, before, frameworks)
                found += _finding(cell, rule, before, (CANARY,))
    return tuple(found)


def judge(cells: Sequence[Cell]) -> tuple[Verdict, ...]:
    """Compare the windows after ONNX Runtime with those after the canary, over the arms that can follow both."""
    found: list[Verdict] = []
    for cell in cells:
        common = tuple(arm for arm in cell.arms if arm not in {SPINNING, CANARY})
        for rule in RULES:
            after = {
                before: [window for window in cell.windows if _is(window, rule, before, common)]
                for before in (SPINNING, CANARY)
            }
            if not all(after.values()):
                continue
            spinning, calm = (
                proportion(sum(map(slow, windows)), len(windows)) for windows in (after[SPINNING], after[CANARY])
            )
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


def slow(window: Window) -> bool:
    """Say whether a window's first call is slow."""
    return window.first_ns[0] > SLOW * window.later_ns


def _is(window: Window, rule: Rule, before: str, of: Sequence[str]) -> bool:
    return window.rule == rule and window.before == before and window.arm in of


def _finding(cell: Cell, rule: Rule, before: str, of: tuple[str, ...]) -> Iterator[Finding]:
    windows = [window for window in cell.windows if _is(window, rule, before, of)]
    if windows:
        yield Finding(
            model=cell.case.model,
            rule=rule,
            before=before,
            of=of,
            slow=proportion(sum(map(slow, windows)), len(windows)),
            mean_excess=float(np.mean([window.first_ns[0] / window.later_ns for window in windows]) - 1),
            waited_ns=float(np.median([window.waited_ns for window in windows])),
        )
