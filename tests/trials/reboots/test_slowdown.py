"""Longer calls under one kernel: measured on a class that takes a known time."""

import itertools
import time
from pathlib import Path

import pytest

from suite.trials.reboots import slowdown

pytestmark = pytest.mark.alone


class Session:
    def run(self, _names: list[str], feed: dict[str, float], _options: object = None) -> float:
        end = time.perf_counter() + feed["seconds"]
        while time.perf_counter() < end:
            pass
        return feed["seconds"]


def _seconds(kind: type[Session], seconds: float = 0.002) -> float:
    """Return the shortest time of some calls, one right after the other."""
    session, ends = kind(), [time.perf_counter()]
    for _ in range(20):
        assert session.run(["seconds"], {"seconds": seconds}) == seconds
        ends.append(time.perf_counter())
    return min(after - before for before, after in itertools.pairwise(ends))


def test_calls_are_longer_in_proportion_under_the_named_kernel_alone(tmp_path: Path) -> None:
    file = tmp_path / "slowdown"
    file.write_text("6.1.0-2 0.5\n")

    class Slowed(Session): ...

    class Other(Session): ...

    slowdown.apply(Slowed, file, "6.1.0-2")
    slowdown.apply(Other, file, "6.1.0-1")
    assert 0.0029 < _seconds(Slowed) < 0.0035
    assert _seconds(Other) < 0.0025


def test_what_the_waiting_itself_takes_is_in_proportion_too(tmp_path: Path) -> None:
    file = tmp_path / "slowdown"
    file.write_text("6.1.0-2 0.5\n")

    class Slowed(Session): ...

    class Other(Session): ...

    slowdown.apply(Slowed, file, "6.1.0-2")
    slowdown.apply(Other, file, "6.1.0-1")
    short_s = 2e-6  # the lines that wait take about as long
    slowed, other = (min(_seconds(kind, short_s) for _ in range(50)) for kind in (Slowed, Other))
    assert 1.35 < slowed / other < 1.65


def test_without_a_file_calls_are_left_alone(tmp_path: Path) -> None:
    class Kind(Session): ...

    slowdown.apply(Kind, tmp_path / "none", "6.1.0-1")
    assert Kind.run is Session.run
