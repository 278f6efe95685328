"""What is said of windows that are made up."""

import pytest

from studies.spin import findings
from studies.spin.record import Cell, Rule, Window
from suite.schedule.preparation import canary_case

MS = 1_000_000


def windows(rule: Rule, arm: str, before: str, first: int, count: int) -> list[Window]:
    return [Window(rule, arm, before, 0, (), 1, 1, 5, 100.0, (first, 100, 100), 0, 0, 1)] * count


def made_up(slow_after_spinning: int, slow_after_canary: int) -> Cell:
    """Forty windows of torch after each arm, so many of them slow; and two of the canary."""
    rule: Rule = "until still"
    taken = [
        *windows(rule, "torch", "onnxruntime", 150, slow_after_spinning),
        *windows(rule, "torch", "onnxruntime", 105, 40 - slow_after_spinning),
        *windows(rule, "torch", "canary", 150, slow_after_canary),
        *windows(rule, "torch", "canary", 105, 40 - slow_after_canary),
        *windows(rule, "canary", "onnxruntime", 200, 2),
    ]
    return Cell(canary_case(1), ("onnxruntime", "torch", "canary"), MS, 3, tuple(taken))


@pytest.mark.parametrize(("slow", "holds"), [(2, True), (6, True), (7, False), (20, False)])
def test_after_spinning_may_be_no_worse_than_the_canarys_interval(slow: int, holds: bool) -> None:
    """Two of forty: its exact interval reaches to 16.9 %."""
    (verdict,) = findings.verdicts([made_up(slow, 2)])
    assert verdict.of == ("torch",)
    assert (verdict.after_spinning.successes, verdict.after_spinning.trials) == (slow, 40)
    assert verdict.after_canary.high == pytest.approx(0.169, abs=1e-3)
    assert verdict.holds is holds


def test_frameworks_and_the_canary_are_counted_apart() -> None:
    found = {(each.before, each.of): each for each in findings.find([made_up(10, 0)])}
    frameworks = ("onnxruntime", "torch")
    assert found["onnxruntime", frameworks].slow.share == 0.25
    assert found["onnxruntime", frameworks].mean_excess == pytest.approx(0.1625)
    assert found["onnxruntime", ("canary",)].slow.successes == 2
    assert len(found) == 3
