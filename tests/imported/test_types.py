import math

import pytest

from levelfield.imported.types import LARGEST_NS, Timed, rate, samples, seconds


def test_the_time_of_a_loop_keeps_what_a_call_would_lose() -> None:
    assert seconds(1.4e-9) == Timed(1, 1)
    assert seconds(1.4e-9, 1_000_000) == Timed(1_400_000, 1_000_000)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e-10, 1e300])
def test_what_is_no_time_is_no_sample(value: float) -> None:
    assert seconds(value) is None
    assert samples([value, 1.0]) == (Timed(10**9),)


@pytest.mark.parametrize("calls", [0, -5, LARGEST_NS, 10**30])
def test_what_is_no_number_of_calls_is_no_sample(calls: int) -> None:
    assert seconds(1.0, calls) is None


@pytest.mark.parametrize("value", [0.0001, 0.5, 619.195, 56.38e9, 9e14])
def test_a_rate_is_kept(value: float) -> None:
    sample = rate(value)
    assert sample is not None
    assert 1e9 * sample.calls / sample.total_ns == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e300])
def test_what_is_no_rate_is_no_sample(value: float) -> None:
    assert rate(value) is None
