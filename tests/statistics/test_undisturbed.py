"""Which rounds count, and what that is worth."""

import numpy as np
import pytest

from levelfield.statistics.levels import levels_of_windows
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.student import MIN_LAUNCHES
from levelfield.statistics.undisturbed import counted_rounds

CALM, DISTURBED = False, True


def test_disturbed_rounds_are_left_out() -> None:
    assert counted_rounds([[CALM, DISTURBED, CALM]] * 3) == [[True, False, True]] * 3


def test_a_generation_without_a_undisturbed_round_counts_where_few_have_one() -> None:
    few = [[CALM, DISTURBED]] * (MIN_LAUNCHES - 1) + [[DISTURBED, DISTURBED]]
    assert counted_rounds(few) == [[True, False]] * (MIN_LAUNCHES - 1) + [[True, True]]


def test_a_generation_without_a_undisturbed_round_is_left_out_where_enough_have_one() -> None:
    enough = [[DISTURBED, DISTURBED]] + [[CALM, DISTURBED]] * MIN_LAUNCHES
    assert counted_rounds(enough) == [[False, False]] + [[True, False]] * MIN_LAUNCHES


def test_nothing_was_measured() -> None:
    assert counted_rounds([]) == []
    assert counted_rounds([[], []]) == [[], []]


@pytest.mark.extended
def test_intervals_keep_their_coverage_and_narrow() -> None:
    """A competitor that meets whole generations: 2,000 experiments of twelve, one in three of them without calm."""
    random = np.random.default_rng(7)
    covered: list[bool] = []
    widths: dict[str, list[float]] = {"counted": [], "all": []}
    for _ in range(2000):
        disturbed = random.random((12, 3)) < 0.3
        disturbed[random.random(12) < 1 / 3] = True
        windows = 0.01 * random.standard_normal((12, 1, 2)) + 0.02 * random.standard_normal((12, 3, 2))
        windows += np.where(disturbed[:, :, None], random.exponential(0.4, (12, 3, 2)), 0)
        kept = np.where(np.array(counted_rounds(disturbed.tolist()))[:, :, None], windows, np.nan)
        for name, table in (("counted", kept), ("all", windows)):
            levels = levels_of_windows(table)
            there = levels[~np.isnan(levels).any(axis=1)]
            if len(there) < MIN_LAUNCHES:
                continue
            interval = ratio_interval(there[:, 1], there[:, 0])
            widths[name].append(np.log(interval.high / interval.low))
            if name == "counted":
                covered.append(interval.low <= 1 <= interval.high)
    assert 0.93 <= np.mean(covered) <= 0.97
    assert np.median(widths["counted"]) < 0.3 * np.median(widths["all"])
