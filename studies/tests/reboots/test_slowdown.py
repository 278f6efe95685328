"""Longer calls under one kernel: measured on a class that takes a known time."""

import itertools
import statistics
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from studies.reboots import slowdown

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


def test_what_the_waiting_itself_takes_is_in_proportion_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that takes 20 µs to read, as in an emulated machine; without it the ratio would be 1.35 or so."""
    file = tmp_path / "slowdown"
    file.write_text("6.1.0-2 0.5\n")
    monkeypatch.setattr(slowdown, "time", SimpleNamespace(perf_counter_ns=_slow_clock))

    class Slowed(Session): ...

    class Other(Session): ...

    slowdown.apply(Slowed, file, "6.1.0-2")
    slowdown.apply(Other, file, "6.1.0-1")
    # Side by side, since the processor's speed moves: the least of either alone may be of a faster moment.
    ratios = [_seconds(Slowed, 200e-6) / _seconds(Other, 200e-6) for _ in range(20)]
    assert 1.42 < statistics.median(ratios) < 1.58


def _slow_clock() -> int:
    begun = time.perf_counter_ns()
    while time.perf_counter_ns() < begun + 20_000:
        pass
    return time.perf_counter_ns()


def test_without_a_file_calls_are_left_alone(tmp_path: Path) -> None:
    class Kind(Session): ...

    slowdown.apply(Kind, tmp_path / "none", "6.1.0-1")
    assert Kind.run is Session.run
