import math

import numpy as np
import pytest

from suite.statistics.errors import UnusableData
from suite.statistics.ranking import rank
from suite.statistics.verdicts import Verdict

CASES = {
    "all equal": ([0.0] * 6, [1.0] * 6),
    "one clearly best": ([0.0, 0.1, 0.1, 0.2, 0.3, 0.4], [1.0] * 6),
    "a noisy best": ([0.0, 0.005, 0.005, 0.01, 0.05, 0.2], [3.0, 1, 1, 1, 0.5, 1]),
    "a quiet best": ([0.0, 0.005, 0.005, 0.01, 0.05, 0.2], [0.3, 1, 1, 3, 1, 3]),
}


@pytest.mark.parametrize("generations", [5, 9])
@pytest.mark.parametrize("case", CASES)
def test_the_true_best_is_in_the_best_set_and_all_intervals_hold(case: str, generations: int) -> None:
    truth, scale = (np.array(x) for x in CASES[case])
    rng = np.random.default_rng(12)
    experiments = 700
    best = together = 0
    for _ in range(experiments):
        noise = 0.012 * scale * rng.standard_t(4, (generations, truth.size))
        levels = truth + noise + rng.normal(0, 0.05, (generations, 1))
        standings = rank(levels)
        best += any(s.arm == 0 and s.in_best_set for s in standings)
        together += all(
            s.low is not None and s.high is not None and s.low <= math.exp(truth[s.arm]) + 1e-12 <= s.high + 2e-12
            for s in standings
        )
    assert best / experiments >= 0.95
    assert together / experiments >= 0.95


def test_clear_differences_are_ranked() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([0.5, 0.0, 0.2, 0.2, 0.9])
    standings = rank(truth + 0.003 * rng.standard_normal((6, 5)) + rng.normal(0, 0.1, (6, 1)))
    assert [(s.arm, s.rank) for s in standings if s.arm not in (2, 3)] == [(1, 1), (0, 4), (4, 5)]
    assert {s.arm: s.rank for s in standings if s.arm in (2, 3)} == {2: 2, 3: 2}
    leader = standings[0]
    assert leader.in_best_set
    assert (leader.ratio, leader.low, leader.high, leader.verdict) == (1.0, 1.0, 1.0, Verdict.SAME)
    assert standings[-1].ratio == pytest.approx(math.exp(0.9), rel=0.02)
    assert standings[-1].verdict is Verdict.SLOWER


def test_equal_arms_share_the_first_rank() -> None:
    rng = np.random.default_rng(4)
    standings = rank(0.01 * rng.standard_normal((5, 3)))
    assert [s.rank for s in standings] == [1, 1, 1]
    assert all(s.in_best_set and s.low == 1.0 for s in standings)


def test_with_more_generations_equal_arms_are_called_as_good_as_the_best() -> None:
    rng = np.random.default_rng(4)
    standings = rank(0.005 * rng.standard_normal((30, 3)))
    assert {s.verdict for s in standings} == {Verdict.SAME}


def test_missing_launches_leave_an_arm_unranked_with_the_reason() -> None:
    rng = np.random.default_rng(5)
    levels = np.log([20.0, 22.0, 30.0]) + 0.01 * rng.standard_normal((6, 3))
    levels[2:, 1] = np.nan
    standings = rank(levels)
    assert [(s.arm, s.rank) for s in standings] == [(0, 1), (2, 2), (1, None)]
    left = standings[-1]
    assert left.launches == 2
    assert left.level == pytest.approx(22, rel=0.05)
    assert left.reason is not None
    assert "2 launches" in left.reason
    assert left.verdict is None


def test_an_arm_that_never_ran_has_no_level() -> None:
    levels = np.zeros((5, 2))
    levels[:, 1] = np.nan
    assert [(s.arm, s.rank, s.level) for s in rank(levels)] == [(0, 1, 1.0), (1, None, None)]


def test_arms_that_share_too_few_generations_are_not_compared() -> None:
    levels = np.zeros((10, 3)) + np.random.default_rng(0).normal(0, 0.01, (10, 3))
    levels[5:, 1] = np.nan
    levels[:4, 2] = np.nan
    standings = rank(levels)
    assert sorted(s.arm for s in standings if s.rank is not None) == [0, 2]
    assert "complete generations" in str(standings[-1].reason)


def test_pairwise_complete_generations_are_used() -> None:
    rng = np.random.default_rng(8)
    levels = np.array([0.0, 0.3, 0.6]) + rng.normal(0, 0.2, (8, 1)) + 0.002 * rng.standard_normal((8, 3))
    levels[0, 1] = levels[7, 2] = np.nan
    standings = rank(levels)
    assert [s.arm for s in standings] == [0, 1, 2]
    assert [s.ratio for s in standings] == pytest.approx([1, math.exp(0.3), math.exp(0.6)], rel=0.01)


def test_zero_variance_ranks_by_level() -> None:
    standings = rank(np.tile(np.log([0.3, 0.1, 0.1]), (5, 1)))
    assert [(s.arm, s.rank) for s in standings] == [(1, 1), (2, 1), (0, 3)]


@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 3), (1, 2)])
def test_nothing_to_rank_ranks_nothing(shape: tuple[int, int]) -> None:
    standings = rank(np.zeros(shape))
    assert len(standings) == shape[1]
    assert all(s.rank is None and s.reason for s in standings)


def test_a_single_arm_has_no_interval() -> None:
    (only,) = rank(np.zeros((5, 1)))
    assert (only.rank, only.ratio, only.low, only.high, only.verdict) == (1, 1.0, None, None, None)


def test_rubbish_is_refused() -> None:
    with pytest.raises(UnusableData, match="infinite"):
        rank(np.full((5, 2), np.inf))
    with pytest.raises(UnusableData, match="2 dimensions"):
        rank(np.zeros(5))
