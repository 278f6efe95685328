import numpy as np
import pytest
from numpy.typing import NDArray

from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.stopping import decide
from levelfield.statistics.student import EndedBy


def _noise(generations: int, arms: int = 2, sd: float = 0.01, seed: int = 0) -> NDArray[np.float64]:
    return sd * np.random.default_rng(seed).standard_normal((generations, arms))


def test_a_narrow_interval_must_hold_twice() -> None:
    levels = _noise(6, sd=0.001)
    assert not decide(levels[:4]).precise
    at_five = decide(levels[:5])
    assert not at_five.precise
    assert at_five.half_width is not None
    assert at_five.half_width < 0.01
    assert decide(levels).precise


def test_a_difference_however_significant_stops_nothing() -> None:
    quiet = _noise(7, sd=0.03)
    shifted = quiet + np.array([0.0, 5.0])
    assert not decide(quiet).precise
    one, other = decide(quiet), decide(shifted)
    assert one.precise == other.precise
    assert one.half_width == pytest.approx(other.half_width)


def test_a_dead_arm_is_not_waited_for_but_a_stumbling_one_is() -> None:
    levels = _noise(7, arms=3, sd=0.001)
    levels[1:, 2] = np.nan
    assert decide(levels).precise
    levels[6, 2] = 0.0
    assert not decide(levels).precise


@pytest.mark.parametrize(("confidence", "least", "most"), [(0.95, 0.93, 0.97), (0.99, 0.98, 0.997)])
def test_intervals_of_runs_stopped_by_this_very_function_cover_the_truth(
    confidence: float, least: float, most: float
) -> None:
    rng = np.random.default_rng(77)
    experiments = 2000
    covered = 0
    lengths = []
    for _ in range(experiments):
        # Heavy tails between launches, drift between generations, two arms that do not differ.
        levels = 0.011 * rng.standard_t(4, (40, 2)) + rng.normal(0, 0.05, (40, 1))
        target = 0.012 if confidence == 0.95 else 0.016
        end = next((n for n in range(5, 40) if decide(levels[:n], target=target).precise), 40)
        lengths.append(end)
        found = ratio_interval(levels[:end, 0], levels[:end, 1], confidence=confidence, ended=EndedBy.PRECISION)
        covered += found.low <= 1 <= found.high
    assert 5.5 < np.mean(lengths) < 30  # the rule does end runs early, and not at once
    assert least <= covered / experiments <= most
