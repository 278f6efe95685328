"""What time is spent on adds up to the time that has passed."""

import itertools

import pytest

from levelfield.schedule.time_spent import Stopwatch


def test_every_second_is_in_one_phase_and_taken_once() -> None:
    ticks = itertools.count()
    watch = Stopwatch(clock=lambda: float(next(ticks)))  # each reading comes a second after the one before
    with watch.phase("loading"), watch.phase("verifying"):
        pass
    assert watch.take() == {"other": 2.0, "loading": 2.0, "verifying": 1.0}
    with pytest.raises(KeyError), watch.phase("windows"):
        raise KeyError
    with watch.phase("roofline"):
        assert watch.take() == {"other": 2.0, "windows": 1.0, "roofline": 1.0}
    assert watch.take() == {"roofline": 1.0, "other": 1.0}
