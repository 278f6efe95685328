"""Verdicts over many cases: how often they are wrong, that what is printed agrees with them, what more would help."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from levelfield.compare.effects import Effect, from_runs
from levelfield.compare.policy import change_policy, judge, of_metric, reproduction_policy
from levelfield.compare.types import Gate, Verdict
from levelfield.statistics import verdicts
from tests.statistics.rates import check_rate

SAME, SLOWER, FASTER, UNDECIDED = (
    verdicts.Verdict.SAME, verdicts.Verdict.SLOWER, verdicts.Verdict.FASTER, verdicts.Verdict.UNDECIDED,
)  # fmt: skip


def effect(percent: float, error: float = 0.001, freedom: float = 8.0) -> Effect:
    return Effect(math.log1p(percent / 100), error, freedom, error * 2, error, 5, 5)


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([effect(0)], [SAME]),
        ([effect(10)], [SLOWER]),
        ([effect(1)], [SAME]),  # it changed, by less than matters
        ([effect(1, 0.02)], [UNDECIDED]),
        ([effect(10), effect(0), effect(1, 0.02)], [SLOWER, SAME, UNDECIDED]),
        ([effect(5, 0.0)], [SLOWER]),
    ],
)
def test_verdicts(effects: list[Effect], expected: list[verdicts.Verdict]) -> None:
    assert [found.verdict for found in judge(effects, change_policy(Gate()))] == expected


@pytest.mark.parametrize(
    ("percent", "error", "outcome"),
    [(1.5, 0.001, "fine"), (2.9, 0.01, "undecided"), (6, 0.001, "worse"), (-6, 0.001, "fine"), (2.5, 0.0005, "fine")],
)
def test_a_gate_asks_its_own_question(percent: float, error: float, outcome: str) -> None:
    (found,) = judge([effect(percent, error)], change_policy(Gate(max_slowdown=0.03)))
    assert found.outcome == outcome
    if percent == 2.5:
        assert found.verdict is SLOWER  # and yet within what is allowed


@given(
    st.lists(st.tuples(st.floats(-8, 8), st.floats(1e-5, 0.05), st.floats(1.0, 30)), min_size=1, max_size=30),
    st.floats(0.001, 0.2),
)
def test_what_is_printed_agrees_with_what_is_said(rows: list[tuple[float, float, float]], margin: float) -> None:
    for found in judge([effect(*row) for row in rows], change_policy(Gate(margin=margin))):
        low, high = found.ratio.low, found.ratio.high
        assert low is not None
        assert high is not None
        assert low <= found.ratio.value <= high
        assert 0.5 <= found.confidence < 1
        inside = low >= 1 / (1 + margin) and high <= 1 + margin
        assert (found.verdict is SAME) == inside
        if found.verdict is UNDECIDED:
            assert low <= 1 <= high
            assert not inside


def test_what_is_still_needed_decides() -> None:
    (before,) = judge([from_runs([1.0, 1.04, 0.97], [1.05, 1.02, 1.09])], change_policy(Gate()))
    assert before.verdict is UNDECIDED
    assert before.further is not None
    old_sd, new_sd = np.log([1.0, 1.04, 0.97]).std(ddof=1), np.log([1.05, 1.02, 1.09]).std(ddof=1)
    for count, decided in ((3 + before.further, True), (2 + before.further, False)):
        variances = old_sd**2 / count, new_sd**2 / count
        freedom = sum(variances) ** 2 / (sum(variance**2 for variance in variances) / (count - 1))
        later = Effect(math.log(before.ratio.value), math.sqrt(sum(variances)), freedom, old_sd, new_sd, count, count)
        (after,) = judge([later], change_policy(Gate()))
        assert (after.verdict is not UNDECIDED) == decided


def test_false_alarms_and_false_equivalences_are_as_rare_as_promised() -> None:
    """Families of 20 cases, three to six runs a side, between-run noise of 1 to 8 %: at most the share q is wrong."""
    rng = np.random.default_rng(3)
    policy = change_policy(Gate(margin=0.05, q=0.05))
    wrong_changes, wrong_sames, families = 0.0, 0.0, 400
    for _ in range(families):
        truth = np.where(rng.random(20) < 0.3, math.log(1.25), 0.0)
        truth[0] = math.log1p(0.05)  # on the edge of the margin: calling it the same is wrong
        runs = int(rng.integers(3, 7))
        spreads = rng.uniform(0.01, 0.08, (20, 2))
        found = judge(
            [
                from_runs(np.exp(rng.normal(0, a, runs)), np.exp(rng.normal(shift, b, runs)))
                for shift, (a, b) in zip(truth, spreads, strict=True)
            ],
            policy,
        )
        changes = [t for t, row in zip(truth, found, strict=True) if row.verdict in (SLOWER, FASTER)]
        sames = [t for t, row in zip(truth, found, strict=True) if row.verdict is SAME]
        wrong_changes += sum(t == 0 for t in changes) / max(len(changes), 1)
        wrong_sames += sum(t != 0 for t in sames) / max(len(sames), 1)
    assert 0.01 < wrong_changes / families < 0.05
    assert wrong_sames / families < 0.05


def test_what_lies_on_the_margin_is_called_the_same_as_often_as_is_promised() -> None:
    """Families of five cases on the edge of the margin, in which any that is called the same is wrong."""
    rng = np.random.default_rng(5)
    policy, families = change_policy(Gate(margin=0.05, q=0.05)), 1500
    wrong = 0
    for _ in range(families):
        old, new = rng.normal(0, 0.01, (5, 5)), rng.normal(math.log1p(0.05), 0.01, (5, 5))
        found = judge([from_runs(*pair) for pair in zip(np.exp(old), np.exp(new), strict=True)], policy)
        wrong += any(each.verdict is SAME for each in found)
    check_rate(wrong, families, 0.04, 0.05)


def test_memory_is_not_slow() -> None:
    assert of_metric(SLOWER, "memory") is Verdict.MORE_MEMORY
    assert of_metric(FASTER, "memory") is Verdict.LESS_MEMORY
    assert of_metric(SLOWER, "latency") is Verdict.SLOWER
    assert [of_metric(verdict, "memory") for verdict in (SAME, UNDECIDED)] == [Verdict.SAME, Verdict.UNDECIDED]


@pytest.mark.parametrize(
    ("percent", "verdict", "outcome"),
    [(0, Verdict.REPRODUCED, "fine"), (20, Verdict.DIFFERS, "worse"), (10, Verdict.UNDECIDED, "undecided")],
)
def test_a_reproduction_asks_about_its_allowance(percent: float, verdict: verdicts.Verdict, outcome: str) -> None:
    (found,) = judge([effect(percent)], reproduction_policy(0.1))
    assert (found.verdict, found.outcome, found.confidence) == (verdict, outcome, 0.95)
    alone, other = judge([effect(percent), effect(50)], reproduction_policy(0.1))
    assert alone == found, "no correction for the number of results"
    assert other.outcome == "worse"


def test_welch_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    for sizes in ((3, 3), (3, 9), (5, 4)):
        old, new = np.exp(rng.normal(0, 0.1, sizes[0])), np.exp(rng.normal(0.1, 0.02, sizes[1]))
        found = from_runs(old, new)
        expected = ttest_ind(np.log(new), np.log(old), equal_var=False)
        assert found.p_value == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval(0.99)
        assert found.log_ratio + found.half_width(0.99) == pytest.approx(interval.high)
        assert found.freedom == pytest.approx(expected.df)
        assert found.tail(0.0) == pytest.approx(
            ttest_ind(np.log(new), np.log(old), equal_var=False, alternative="less").pvalue
        )
