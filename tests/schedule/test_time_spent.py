"""What time is spent on adds up to the time that has passed."""

import itertools

import pytest

from levelfield.schedule.time_spent import Stopwatch


def test_time_within_an_inner_phase_is_not_the_outer_ones() -> None:
    ticks = itertools.count()
    watch = Stopwatch(clock=lambda: float(next(ticks)))  # each reading comes a second after the one before
    with watch.phase("loading"), watch.phase("verifying"):
        pass
    assert watch.take() == {"other": 2.0, "loading": 2.0, "verifying": 1.0}


def test_a_phase_that_fails_is_closed() -> None:
    ticks = itertools.count()
    watch = Stopwatch(clock=lambda: float(next(ticks)))
    with pytest.raises(KeyError), watch.phase("windows"):
        raise KeyError
    assert watch.take() == {"other": 2.0, "windows": 1.0}


def test_what_was_taken_is_not_taken_again() -> None:
    ticks = itertools.count()
    watch = Stopwatch(clock=lambda: float(next(ticks)))
    with watch.phase("roofline"):
        assert watch.take() == {"other": 1.0, "roofline": 1.0}
    assert watch.take() == {"roofline": 1.0, "other": 1.0}
