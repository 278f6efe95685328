import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from suite.statistics.errors import InsufficientData, UnusableData
from suite.statistics.steady import MIN_POINTS, Course, SteadyState, steady_state

Floats = NDArray[np.float64]


def _white(rng: np.random.Generator, n: int) -> Floats:
    return 0.02 * rng.standard_normal(n)


def _heavy(rng: np.random.Generator, n: int) -> Floats:
    return 0.02 * rng.standard_t(3, n)


def _spiky(rng: np.random.Generator, n: int) -> Floats:
    return 0.02 * rng.standard_normal(n) + np.where(rng.random(n) < 0.1, rng.lognormal(-1.5, 0.7, n), 0)


def _busy(rng: np.random.Generator, n: int) -> Floats:
    """A machine with moods: 5 %, correlated by 0.6 from one window to the next."""
    moods: Floats = lfilter([1], [1, -0.6], 0.04 * rng.standard_normal(n + 50))[50:]
    return moods + 0.02 * rng.standard_normal(n)


NOISES = {"white": _white, "heavy": _heavy, "spiky": _spiky, "busy": _busy}


def _streams(shape: Callable[[Floats], Floats], noise: str, n: int, streams: int = 60) -> list[SteadyState]:
    rng = np.random.default_rng(31)
    position = np.arange(n) / n
    return [steady_state(1e6 * np.exp(shape(position) + NOISES[noise](rng, n))) for _ in range(streams)]


def _flat(position: Floats) -> Floats:
    return 0 * position


def _share(found: list[SteadyState], *courses: Course) -> float:
    counts = Counter(state.course for state in found)
    return sum(counts[course] for course in courses) / len(found)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [6, 8, 12, 30, 100, 1000])
def test_flat_streams_are_steady_and_hardly_anything_is_left_out(noise: str, n: int) -> None:
    found = _streams(_flat, noise, n)
    assert np.mean([state.steady for state in found]) >= 0.88
    assert np.mean([state.left_out / n for state in found]) <= 0.1


@pytest.mark.parametrize("noise", ["white", "heavy"])
@pytest.mark.parametrize("n", [8, 12, 30, 200])
def test_a_slow_first_window_is_left_out_alone(noise: str, n: int) -> None:
    found = _streams(lambda x: np.where(x == 0, 0.4, 0.0), noise, n)
    assert _share(found, Course.WARM_UP) >= 0.8
    assert np.median([state.left_out for state in found]) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [30, 100, 1000])
def test_warm_up_ends_where_it_ends(noise: str, n: int) -> None:
    found = _streams(lambda x: np.where(x < 0.2, 0.4, 0.0), noise, n)
    assert _share(found, Course.WARM_UP) >= 0.8
    left_out = [state.left_out / n for state in found if state.course is Course.WARM_UP]
    assert np.median(left_out) == pytest.approx(0.2, abs=0.035)


@pytest.mark.parametrize("noise", ["white", "heavy", "spiky"])
def test_gradual_warm_up_is_left_out_as_far_as_it_matters(noise: str) -> None:
    found = _streams(lambda x: 0.3 * np.exp(-x / 0.05), noise, 200)
    assert _share(found, Course.WARM_UP) >= 0.85
    first = [state.left_out for state in found if state.steady]
    residue = 0.3 * np.exp(-np.array(first) / 200 / 0.05)
    assert np.median(residue) < 0.03


@pytest.mark.sampled(2)
@pytest.mark.parametrize("noise", ["white", "heavy", "spiky", "busy"])
@pytest.mark.parametrize("slope", [0.3, -0.3])
def test_what_still_drifts_at_the_end_has_no_steady_state(noise: str, slope: float) -> None:
    found = _streams(lambda x: slope * x, noise, 1000, streams=30)
    still = Course.STILL_SLOWING if slope > 0 else Course.STILL_IMPROVING
    assert np.mean([not state.steady for state in found]) >= 0.75
    assert _share(found, still) >= 0.5
    assert _share(found, *({Course.STILL_SLOWING, Course.STILL_IMPROVING} - {still})) <= 0.05


@pytest.mark.parametrize("noise", ["white", "heavy", "spiky"])
@pytest.mark.parametrize("n", [30, 200])
def test_a_late_change_of_level_is_not_called_steady(noise: str, n: int) -> None:
    found = _streams(lambda x: np.where(x < 0.85, 0.0, 0.3), noise, n)
    assert np.mean([not state.steady for state in found]) >= 0.75


@pytest.mark.parametrize("noise", ["white", "heavy"])
def test_a_launch_that_settles_slower_than_it_began_says_so(noise: str) -> None:
    found = _streams(lambda x: np.where(x < 0.3, 0.0, 0.2), noise, 60)
    assert _share(found, Course.SLOW_DOWN) >= 0.9


@pytest.mark.parametrize("noise", NOISES)
def test_a_burst_of_another_process_is_kept(noise: str) -> None:
    found = _streams(lambda x: np.where((x > 0.4) & (x < 0.55), 0.3, 0.0), noise, 100)
    assert np.mean([state.steady and state.left_out <= 3 for state in found]) >= 0.85


def test_all_of_a_warm_up_is_left_out() -> None:
    rng = np.random.default_rng(0)
    times = np.exp(np.r_[np.full(40, 0.5), np.zeros(160)] + 0.01 * rng.standard_normal(200))
    state = steady_state(times)
    assert (state.steady, state.course, state.left_out) == (True, Course.WARM_UP, 40)


def test_single_slow_calls_at_the_start_of_a_long_series_are_marked_too() -> None:
    rng = np.random.default_rng(1)
    times = np.exp(0.01 * rng.standard_normal(10_000))
    times[:3] *= 5
    state = steady_state(times)
    assert (state.course, state.left_out) == (Course.WARM_UP, 3)


def test_constant_times_are_steady() -> None:
    state = steady_state([5.0] * 10)
    assert (state.steady, state.course, state.left_out) == (True, Course.FLAT, 0)


def test_a_coarse_clock_is_no_trouble() -> None:
    rng = np.random.default_rng(2)
    assert steady_state(np.where(rng.random(1000) < 0.05, 231.0, 230.0)).course is Course.FLAT
    assert steady_state([230.0] * 9 + [231.0]).steady


def test_a_steady_climb_of_a_few_windows_is_seen() -> None:
    assert steady_state([10, 11, 12, 13, 14, 15, 16, 17]).course is Course.STILL_SLOWING


@pytest.mark.parametrize("n", range(1, MIN_POINTS))
def test_too_few_values_claim_nothing(n: int) -> None:
    state = steady_state([1.0] * n)
    assert (state.steady, state.course, state.left_out) == (False, Course.TOO_FEW, 0)


@pytest.mark.parametrize("n", range(MIN_POINTS, 14))
def test_short_series_of_any_shape_get_an_answer(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(60):
        times = np.round(np.exp(rng.standard_t(1.5, n).clip(-5, 5)), 1) + 0.1
        state = steady_state(times)
        assert state.steady == (state.course in {Course.FLAT, Course.WARM_UP, Course.SLOW_DOWN})
        assert 0 <= state.left_out < n


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_what_is_no_time_is_refused(bad: float) -> None:
    with pytest.raises(UnusableData, match="number 3"):
        steady_state([1.0, 1.0, 1.0, bad, 1.0, 1.0, 1.0])


def test_no_times_are_refused() -> None:
    with pytest.raises(InsufficientData):
        steady_state([])
