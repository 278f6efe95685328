"""Slow, fast and noisy nodes: what each means, and by simulation how often fleets of like nodes have any."""

import itertools
import math

import numpy as np
import pytest

from levelfield.statistics.arrays import Floats, UnusableData
from levelfield_fleet.statistics import outliers
from levelfield_fleet.statistics.outliers import Costs, Judged, judge, scatter
from levelfield_fleet.statistics.tails import median_variance
from tests.fleet.statistics.fleets import Noise, Setting, costs, draw, tally
from tests.fleet.statistics.fleets import scatter as scattered


def _runs(nodes: int, cases: int = 2, runs: int = 5, node_sd: float = 0.004, run_sd: float = 0.004) -> Floats:
    setting = Setting(nodes, cases, runs, node_sd, run_sd)
    return draw(np.random.default_rng(nodes + 31 * cases), 1, setting)


def _one(runs: Floats) -> Judged:
    (found,) = judge([costs(runs)])
    return found


def test_a_slow_node_and_a_fast_one_are_named_and_nobody_else() -> None:
    runs = _runs(20)
    runs[3] += math.log(1.10)
    runs[7, :, 1] -= math.log(1.10)
    found = _one(runs)
    assert np.argwhere(found.calls.slow).tolist() == [[3, 0], [3, 1]]
    assert np.argwhere(found.calls.fast).tolist() == [[7, 1]]
    assert not found.noisy.any()
    assert found.levels.deviation[3] == pytest.approx([math.log(1.10)] * 2, abs=0.02)


def test_a_deviation_within_the_margin_is_nothing_however_sure() -> None:
    runs = _runs(20, node_sd=0.0001, run_sd=0.0001)
    runs[3] += math.log(1.015)
    found = _one(runs)
    assert (found.levels.deviation[3] > found.calls.half_width[3]).all()
    assert not found.calls.slow.any()
    (narrow,) = judge([costs(runs)], margin=0.01)
    assert np.argwhere(narrow.calls.slow)[:, 0].tolist() == [3, 3]


@pytest.mark.parametrize("slow", [1, 10, 20, 28])
def test_several_slow_nodes_do_not_hide_one_another(slow: int) -> None:
    runs = _runs(100)
    runs[:slow] += math.log(1.25)
    assert _one(runs).calls.slow.any(axis=1).tolist() == [True] * slow + [False] * (100 - slow)


def test_with_two_nodes_there_is_a_difference_and_no_verdict() -> None:
    for nodes in (1, 2, 3):
        runs = _runs(nodes)
        runs[0] += 1.0
        found = _one(runs)
        assert not np.array([found.levels.tested, found.calls.slow, found.calls.odd]).any()
        assert np.isnan(found.levels.deviation).any() == (nodes == 1)
    assert _one(_runs(4)).levels.tested.all()


def test_intervals_agree_with_p_values() -> None:
    runs = _runs(12, cases=4)
    runs += 0.03 * np.random.default_rng(1).standard_t(2, (12, 1, 4))
    found = outliers.compare_levels(costs(runs))
    for heavy, level in itertools.product((True, False), (0.3, 0.05, 0.01)):
        beyond = np.abs(found.deviation) > found.limits(level, heavy=heavy)
        assert (beyond == (found.p_values(heavy=heavy) < level)).all()
        assert beyond.any()


def test_p_values_of_like_nodes_are_uniform() -> None:
    setting = Setting(9, 1, node_sd=0.01, run_sd=0.0)
    found = outliers.compare_levels(costs(draw(np.random.default_rng(5), 4000, setting)))
    p_values = found.p_values(heavy=False).ravel()
    for level in (0.5, 0.1, 0.01, 0.001):
        assert (p_values < level).mean() == pytest.approx(level, rel=0.25)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize(
    ("nodes", "cases", "runs", "groups"),
    [(4, 6, 5, 1), (8, 1, 5, 1), (8, 6, 3, 4), (24, 6, 1, 1), (100, 2, 5, 1)],
)
def test_of_fleets_of_like_nodes_one_in_a_hundred_has_a_false_verdict_at_most(
    nodes: int, cases: int, runs: int, groups: int, noise: Noise
) -> None:
    setting = Setting(nodes, cases, runs, node_sd=0.01, run_sd=0.015, noise=noise, groups=groups)
    found = tally(setting, 800, 7)
    assert found.flagged.low < outliers.LEVEL
    assert found.flagged.share < 0.016


def test_the_rate_is_used() -> None:
    found = tally(Setting(8, 1, node_sd=0.02, run_sd=0.001), 3000, 3, level=0.2)
    assert 0.08 < found.flagged.share < 0.2


def test_in_a_hundred_nodes_one_that_is_ten_percent_slow_is_found() -> None:
    for noise in Noise:
        setting = Setting(100, 6, node_sd=0.01, run_sd=0.01, noise=noise, slow=1, effect=0.1)
        found = tally(setting, 200, 11)
        assert found.found is not None
        assert found.found.share > 0.95
        assert found.flagged.successes <= 4


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("nodes", "node_sd"), [(5, 0.003), (16, 0.01), (100, 0.02)])
def test_what_it_says_it_finds_is_found(nodes: int, node_sd: float) -> None:
    setting = Setting(nodes, 2, node_sd=node_sd, run_sd=0.005, slow=1, slow_cases=1)
    level = (1 - outliers.NOISE_SHARE) * outliers.LEVEL / (2 * nodes)
    like = outliers.compare_levels(costs(draw(np.random.default_rng(2), 60, setting)))
    effect = float(np.median(like.finds(level)))
    shares = []
    for each in (effect, effect / 3):
        slow = Setting(nodes, 2, node_sd=node_sd, run_sd=0.005, slow=1, slow_cases=1, effect=each)
        found = tally(slow, 600, 5).found
        assert found is not None
        shares.append(found.share)
    assert shares[0] > 0.93
    assert shares[1] < 0.5


def test_one_odd_run_of_five_names_nobody_and_one_of_one_is_not_decided() -> None:
    runs = _runs(30)
    runs[4, 2] += math.log(1.07)
    found = _one(runs)
    assert not np.array([found.calls.slow, found.calls.odd]).any()
    alone = _one(runs[:, 2:3])
    assert not alone.calls.slow.any()
    assert np.argwhere(alone.calls.odd)[:, 0].tolist() == [4, 4]


@pytest.mark.parametrize(("nodes", "runs", "launches"), [(8, 5, 5), (40, 1, 5), (40, 5, 10)])
@pytest.mark.parametrize("noise", Noise)
def test_nodes_that_scatter_alike_are_not_noisy(nodes: int, runs: int, launches: int, noise: Noise) -> None:
    assert scattered(nodes, 3, runs, launches, noise, 400, 3).flagged.share < outliers.LEVEL


def test_a_noisy_node_is_named_by_its_runs_and_by_its_launches() -> None:
    rng = np.random.default_rng(8)
    runs = 0.002 * rng.standard_normal((20, 5, 3))
    launches = 0.005 * rng.standard_normal((20, 5, 6, 3))
    runs[2, :, 0] *= 30
    launches[5, ..., 2] *= 8
    (found,) = judge([Costs(runs, launches)])
    assert np.argwhere(found.noisy).tolist() == [[2, 0], [5, 2]]
    assert found.times_the_scatter[5, 2] == pytest.approx(8, rel=0.5)
    assert not found.calls.slow.any()
    assert found.launch_scatter[0, 0] == pytest.approx(0.005, rel=0.4)


def test_the_scale_is_never_below_what_runs_leave_in_a_median() -> None:
    runs = _runs(12, node_sd=0.0, run_sd=0.01)
    found = outliers.compare_levels(costs(runs))
    assert (found.scale >= math.sqrt(median_variance(5)) * found.run_scatter * 0.999).all()
    same = np.repeat(runs[:1], 12, axis=0)
    assert outliers.compare_levels(costs(same)).scale == pytest.approx(
        math.sqrt(median_variance(5)) * scatter(same[None])[0][None].repeat(12, 0)
    )


def test_fewer_runs_make_a_node_less_certain() -> None:
    runs = _runs(12, node_sd=0.001, run_sd=0.01)
    runs[0, 1:] = np.nan
    found = outliers.compare_levels(costs(runs))
    assert (found.scale[0] > 1.3 * found.scale[1]).all()
    assert (found.limits(0.001)[0] > 2 * found.limits(0.001)[1]).all()
    assert found.runs[:, 0].tolist() == [1] + [5] * 11


def test_missing_results_are_no_peers() -> None:
    runs = _runs(8)
    runs[4:, :, 1] = np.nan
    found = _one(runs)
    assert found.levels.tested.sum() == 12
    assert found.levels.peers[0].tolist() == [7, 3]
    assert np.isnan(found.levels.deviation[5, 1])
    runs[:, :, 1] = np.nan
    assert _one(runs).levels.tests == 8


def test_exactly_equal_costs_are_equal_and_any_other_is_not() -> None:
    runs = np.zeros((6, 3, 1))
    runs[2] = math.log(1.05)
    found = _one(runs)
    assert found.calls.slow[:, 0].tolist() == [False, False, True, False, False, False]
    assert found.levels.p_values()[:, 0] == pytest.approx([1, 1, 0, 1, 1, 1])


def test_infinite_costs_are_refused() -> None:
    runs = _runs(5)
    runs[0, 0, 0] = math.inf
    with pytest.raises(UnusableData):
        _one(runs)


def test_what_is_beyond_reach_counts_as_infinitely_slow() -> None:
    found = outliers.compare_levels(costs(_runs(4, node_sd=0.2)))
    assert np.isinf(found.finds(1e-4)).all()
    assert np.isfinite(outliers.compare_levels(costs(_runs(9))).finds(1e-4)).all()
