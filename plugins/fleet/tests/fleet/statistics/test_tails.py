"""Limits far out: what they are where they are known, and by simulation where they are not."""

import numpy as np
import pytest
import scipy

from levelfield_fleet.statistics.peers import DISTANCE
from levelfield_fleet.statistics.tails import (
    SHARES,
    critical,
    exceeded,
    median_variance,
    needed,
    odd,
    share_index,
    tail,
)
from tests.fleet.statistics import shapes

ALL = len(SHARES) - 1
LEVELS = (1e-2, 1e-3, 1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("peers", [3, 4, 5, 6, 7, 8, 10, 15, 24, 60])
def test_limits_of_normal_levels_are_exceeded_as_often_as_they_say(peers: int) -> None:
    draws = min(200_000, 40_000_000 // peers**2)
    found = shapes.checks(shapes.draw(np.random.default_rng(peers), peers, draws), LEVELS)
    for check in found:
        assert 0.6 < check.simulated / check.level < 1.25, check


def test_many_peers_are_as_good_as_a_known_spread() -> None:
    for level in LEVELS:
        assert critical(level, peers=5000, runs=1, share=0) == pytest.approx(-scipy.special.ndtri(level), rel=0.01)


@pytest.mark.parametrize("runs", [1, 3, 5, 9])
def test_the_tail_of_a_median_of_heavy_tailed_runs(runs: int) -> None:
    rng = np.random.default_rng(runs)
    drawn = np.median(rng.standard_t(3, (400_000, runs)), axis=1)
    distances = np.abs(np.diff(drawn.reshape(-1, 2), axis=1))
    drawn /= np.median(distances) / DISTANCE
    for share in (2, 5, ALL):
        mixed = np.sqrt(1 - SHARES[share]) * rng.standard_normal(drawn.size) + np.sqrt(SHARES[share]) * drawn
        unit = np.median(np.abs(np.diff(mixed.reshape(-1, 2), axis=1))) / DISTANCE
        at = np.array([-1.0, 0.0, 1.0, 3.0])
        simulated = [(mixed / unit > each).mean() for each in at]
        assert tail(runs, share).beyond(at) == pytest.approx(simulated, rel=0.08, abs=1e-4)


def test_far_out_the_median_falls_with_the_power_of_the_runs_that_must_be_off() -> None:
    at = np.array([1e2, 1e3])
    for runs, power in ((1, 3), (3, 6), (5, 9)):
        one, further = tail(runs, ALL).beyond(at)
        assert np.log10(one / further) == pytest.approx(power, rel=0.02)


def test_limits_grow_with_the_share_of_runs_and_fall_with_their_number() -> None:
    limits = [critical(1e-5, peers=50, runs=5, share=share) for share in range(len(SHARES))]
    assert limits == sorted(limits)
    by_runs = [critical(1e-5, peers=50, runs=runs, share=ALL) for runs in (1, 3, 5, 7, 9)]
    assert by_runs == sorted(by_runs, reverse=True)
    assert critical(1e-5, peers=50, runs=2, share=ALL) == by_runs[0]
    assert critical(1e-5, peers=50, runs=40, share=ALL) == by_runs[-1]


def test_a_limit_is_exceeded_at_its_level() -> None:
    for peers, runs, share in ((3, 1, 0), (7, 5, 4), (99, 3, ALL)):
        design = {"peers": peers, "runs": runs, "share": share}
        assert exceeded([critical(1e-5, **design)], **design)[0] == pytest.approx(1e-5, rel=1e-3)
        limit = critical(1e-3, **design)
        distance = needed(limit, 0.95, **design)
        assert exceeded([limit], shift=distance, **design)[0] == pytest.approx(0.95, abs=1e-4)


def test_shares_are_rounded_up_and_what_is_unknown_is_all() -> None:
    assert share_index(np.array([0.0, 0.01, 0.02, 0.6, 1.0, 3.0, np.nan])).tolist() == [0, 1, 1, 7, ALL, ALL, ALL]
    assert [odd(runs) for runs in (1, 2, 3, 4, 5, 12)] == [1, 1, 3, 3, 5, 9]


def test_the_variance_of_a_median() -> None:
    rng = np.random.default_rng(4)
    for count in (1, 2, 3, 4, 5, 6, 7, 20):
        simulated = np.median(rng.standard_normal((400_000, count)), axis=1).var()
        assert median_variance(count) == pytest.approx(simulated, rel=0.015)
