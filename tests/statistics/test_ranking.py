import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from levelfield.statistics.ranking import ArmRank, most_equal_pairs, rank
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.student import trimmed
from levelfield.statistics.verdicts import Verdict
from studies.simulation import world
from tests.known import known
from tests.statistics import blocks as simulated
from tests.statistics.rates import check_rate

CASES = {
    "all equal": ([0.0] * 6, [1.0] * 6),
    "one clearly best": ([0.0, 0.1, 0.1, 0.2, 0.3, 0.4], [1.0] * 6),
    "a noisy best": ([0.0, 0.005, 0.005, 0.01, 0.05, 0.2], [3.0, 1, 1, 1, 0.5, 1]),
    "a quiet best": ([0.0, 0.005, 0.005, 0.01, 0.05, 0.2], [0.3, 1, 1, 3, 1, 3]),
}
NO_MARGIN = 1e-9
"""Nothing is equal: every false claim of a difference shows."""
SEVEN: dict[str, tuple[list[float], list[float]]] = {
    "seven equal arms": ([0.0] * 7, [1.0] * 7),
    "equal arms, unlike spreads": ([0.0] * 7, [1, 1, 1.5, 1.5, 2, 3, 3]),
    "the best and three equal pairs": ([0.0, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9], [1.0] * 7),
    "three equal best, two equal pairs": ([0.0, 0.0, 0.0, 0.5, 0.5, 0.9, 0.9], [1.0] * 7),
    "the best and six equal arms": ([-0.5, *[0.0] * 6], [1.0] * 7),
    "small steps": ([0.02 * place for place in range(7)], [1.0] * 7),
    "smaller steps": ([0.005 * place for place in range(7)], [1.0] * 7),
    "large and small steps": ([0.0, 0.005, 0.3, 0.305, 0.6, 0.605, 0.61], [1, 2, 1, 2, 1, 2, 3]),
}


def at_most(share: float, experiments: int) -> float:
    """Return how often an event of that probability happens at the most, but for one series of experiments in 1000."""
    return float(binom.ppf(0.999, experiments, share)) / experiments


def false_claims(ranks: list[ArmRank], truth: NDArray[np.float64]) -> bool:
    """Say whether some arm is said to be behind one that is not faster."""
    return any(truth[fast] >= truth[standing.arm] for standing in ranks for fast in standing.behind)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("generations", [5, 9])
@pytest.mark.parametrize("case", CASES)
def test_the_true_best_has_rank_1_and_all_intervals_hold(case: str, generations: int) -> None:
    truth, scale = (np.array(x) for x in CASES[case])
    rng = np.random.default_rng(12)
    experiments = 700
    best = together = 0
    for _ in range(experiments):
        noise = 0.012 * scale * rng.standard_t(4, (generations, truth.size))
        ranks = rank(truth + noise + rng.normal(0, 0.05, (generations, 1)))
        best += any(s.arm == 0 and s.rank == 1 for s in ranks)
        together += hold(ranks, truth)
    assert best / experiments >= 0.95
    assert together / experiments >= 0.95


@pytest.mark.sampled(2)
@pytest.mark.parametrize("noise", ["normal", "heavy tails"])
@pytest.mark.parametrize("arms", [3, 4, 5, 7])
@pytest.mark.parametrize("unlike", ["none", "the best is noisy", "two are steady", "one is noisy", "sixfold"])
def test_intervals_hold_together_however_unlike_the_spreads_that_they_lean_on(
    unlike: str, arms: int, noise: simulated.Noise
) -> None:
    rng = np.random.default_rng([arms, len(unlike)])
    steady = np.ones(arms)
    scale = {
        "none": steady,
        "the best is noisy": np.where(np.arange(arms) == 0, 3.0, steady),
        "two are steady": np.where(np.arange(arms) < 2, steady, 4.0),
        "one is noisy": np.where(np.arange(arms) == arms - 1, 4.0, steady),
        "sixfold": np.geomspace(1, 6, arms),
    }[unlike]
    truth = np.where(np.arange(arms) == 0, 0.0, 2.0)  # far behind: which one is the best is known
    experiments = 1000
    blocks = simulated.levels(rng, experiments, truth=truth, generations=5, rounds=2, noise=noise, scale=scale)
    missed = np.mean([not hold(rank(levels), truth) for levels in blocks])
    assert missed <= at_most(0.05, experiments)


def test_seven_arms_tell_one_another_how_much_launches_vary() -> None:
    """Five launches of seven equal arms: intervals are a quarter narrower than those of each pair alone."""
    rng = np.random.default_rng(8)
    truth = np.array([0.0, *[2.0] * 6])
    blocks = simulated.levels(rng, 300, truth=truth, generations=5, rounds=2)
    widths = []
    for levels in blocks:
        alone = [ratio_interval(levels[:, arm], levels[:, 0]).mean.half_width(0.95, comparisons=6) for arm in range(7)]
        widths += [known(each.half_width) / alone[each.arm] for each in rank(levels) if each.arm]
    assert 0.65 < np.median(widths) < 0.8


def hold(ranks: list[ArmRank], truth: NDArray[np.float64]) -> bool:
    """Say whether all intervals against the best hold together."""
    best = truth.min()
    return all(
        s.low is not None and s.high is not None and s.low <= math.exp(truth[s.arm] - best) + 1e-12 <= s.high + 2e-12
        for s in ranks
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("generations", "rounds"), [(5, 2), (10, 4)])
@pytest.mark.parametrize("case", SEVEN)
def test_no_arm_is_called_faster_that_is_not(case: str, generations: int, rounds: int) -> None:
    """All 21 pairs at once, from windows to ranks; 12.5 % of blocks had a false rank when six comparisons were told."""
    truth, scale = (np.array(x, dtype=float) for x in SEVEN[case])
    rng = np.random.default_rng([generations, rounds])
    experiments = 1500
    blocks = simulated.levels(rng, experiments, truth=truth, generations=generations, rounds=rounds, scale=scale)
    wrong = [false_claims(rank(levels, margin=NO_MARGIN), truth) for levels in blocks]
    assert np.mean(wrong) <= at_most(0.05, experiments)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("confidence", [0.95, 0.99])
@pytest.mark.parametrize("generations", [5, 10])
@pytest.mark.parametrize("arms", [2, 3, 7])
def test_ranks_and_intervals_keep_the_level_that_they_say(arms: int, generations: int, confidence: float) -> None:
    rng = np.random.default_rng([arms, generations])
    experiments = 1200
    for step in (0.0, 0.03):
        truth = step * np.arange(float(arms))
        blocks = simulated.levels(rng, experiments, truth=truth, generations=generations, rounds=2)
        found = [rank(levels, confidence=confidence, margin=NO_MARGIN) for levels in blocks]
        assert np.mean([false_claims(each, truth) for each in found]) <= at_most(1 - confidence, experiments)
        if arms == 2 and confidence < 0.99:  # nothing is corrected: as often as is said, and no less
            check_rate(sum(not hold(each, truth) for each in found), experiments, 1 - confidence)
        assert np.mean([not hold(each, truth) for each in found]) <= at_most(1 - confidence, experiments)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rounds", [1, 2, 3, 6])
@pytest.mark.parametrize("generations", [5, 10])
@pytest.mark.parametrize("arms", [2, 3, 7])
def test_paired_intervals_from_windows_cover_what_they_say(arms: int, generations: int, rounds: int) -> None:
    """Median polish takes one drift from all arms of a round, so it makes no pair look steadier than it is."""
    rng = np.random.default_rng([arms, generations, rounds])
    experiments = 4000
    blocks = simulated.levels(rng, experiments, truth=np.zeros(arms), generations=generations, rounds=rounds)
    for confidence in (0.95, 0.99):
        found = (ratio_interval(*levels.T[:2], confidence=confidence) for levels in blocks)
        missed = np.mean([not each.low <= 1 <= each.high for each in found])
        nominal = 1 - confidence + 0.007 * bool(trimmed(generations))  # normal noise is the worst case of trimming
        assert 1 - at_most(confidence, experiments) <= missed <= at_most(nominal, experiments)


@pytest.mark.extended
@pytest.mark.parametrize("contended", [world.QUIET, world.BUSY])
def test_on_a_machine_with_two_states_equal_arms_have_a_false_rank_in_at_most_one_block_in_twenty(
    contended: float,
) -> None:
    arms = [world.Arm(backend) for backend in world.FACTORS]
    schedule = world.Schedule(generations=10, measuring_s=4.0, apart_s=10.0)
    blocks = world.measure(np.random.default_rng(7), 600, arms, schedule, contended=contended).levels
    wrong = np.mean([any(place.behind for place in rank(levels)) for levels in blocks])
    assert wrong <= at_most(0.05, 600)


def test_ranks_follow_the_estimates_and_say_no_more_than_is_shown() -> None:
    """A rank is never worse than the number of faster arms says, and the first is of all that none is faster than."""
    rng = np.random.default_rng(6)
    truth = 0.04 * np.arange(7.0)
    blocks = simulated.levels(rng, 500, truth=truth, generations=5, rounds=2, scale=np.array([3, 1, 1, 2, 1, 3, 1.0]))
    behind_several = 0
    for levels in blocks:
        ranks = rank(levels)
        order = [(s.rank, s.ratio) for s in ranks]
        assert order == sorted(order)
        first = [s for s in ranks if s.rank == 1]
        by_arm = {s.arm: s.rank for s in ranks}
        for s in ranks:
            assert s.rank is not None
            assert s.low is not None
            assert min(2, 1 + len(s.behind)) <= s.rank <= 1 + len(s.behind)
            assert all(by_arm[fast] <= s.rank for fast in s.behind)  # type: ignore[operator]
            if s.rank == 1:
                assert s.low == 1 or s.verdict is Verdict.SAME
            elif s.low == 1:
                behind_several += 1
                assert len(first) > 1
    assert behind_several, "else nothing was looked at"


def test_an_arm_inside_the_margin_is_equal_however_sure_the_difference_is() -> None:
    rng = np.random.default_rng(9)
    levels = np.array([0.0, 0.005, 0.1]) + 0.0005 * rng.standard_normal((8, 3))
    first, second, third = rank(levels)
    assert [(s.arm, s.rank, s.verdict) for s in (first, second, third)] == [
        (0, 1, Verdict.SAME), (1, 1, Verdict.SAME), (2, 3, Verdict.SLOWER),
    ]  # fmt: skip
    assert known(second.low) > 1, "Hsu's bounds are told as they are"
    assert [s.rank for s in rank(levels, margin=0.001)] == [1, 2, 3]


@pytest.mark.parametrize("arms", range(1, 10))
def test_bounds_count_the_pairs_that_can_be_equal(arms: int) -> None:
    def partitions(number: int, largest: int) -> Iterator[tuple[int, ...]]:
        if number == 0:
            yield ()
        for first in range(min(number, largest), 0, -1):
            yield from ((first, *rest) for rest in partitions(number - first, first))

    equal = {sum(math.comb(together, 2) for together in each) for each in partitions(arms, arms)}
    pairs = math.comb(arms, 2)
    for unequal in range(pairs + 1):
        assert most_equal_pairs(arms, unequal) == max(each for each in equal if pairs - each >= unequal)


@pytest.mark.parametrize(("step", "cut_off"), [(0.0, True), (0.5, False)])
def test_the_half_width_is_of_the_interval_before_it_is_cut_off_at_1(step: float, cut_off: bool) -> None:
    levels = np.array([0.0, step]) + 0.01 * np.random.default_rng(4).standard_normal((5, 2))
    half_width = ratio_interval(*levels.T).mean.half_width(0.95)
    second = rank(levels)[1]
    assert second.half_width == pytest.approx(half_width)
    left = math.log(known(second.high) / known(second.low)) / 2
    assert (left < 0.9 * half_width) if cut_off else left == pytest.approx(half_width)


def test_missing_launches_leave_an_arm_unranked_with_the_reason() -> None:
    rng = np.random.default_rng(5)
    levels = np.log([20.0, 22.0, 30.0]) + 0.01 * rng.standard_normal((6, 3))
    levels[2:, 1] = np.nan
    ranks = rank(levels)
    assert [(s.arm, s.rank) for s in ranks] == [(0, 1), (2, 2), (1, None)]
    left = ranks[-1]
    assert "2 launches" in known(left.reason)
    assert left.verdict is None


def test_arms_that_share_too_few_generations_are_not_compared() -> None:
    levels = np.zeros((10, 3)) + np.random.default_rng(0).normal(0, 0.01, (10, 3))
    levels[5:, 1] = np.nan
    levels[:4, 2] = np.nan
    ranks = rank(levels)
    assert sorted(s.arm for s in ranks if s.rank is not None) == [0, 2]
    assert "complete generations" in str(ranks[-1].reason)
