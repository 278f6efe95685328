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


def _slowed(folder: Path) -> tuple[type[Session], type[Session]]:
    """Return a class of the named kernel, and one of another."""
    (folder / "slowdown").write_text("6.1.0-2 0.5\n")

    class Slowed(Session): ...

    class Other(Session): ...

    slowdown.apply(Slowed, folder / "slowdown", "6.1.0-2")
    slowdown.apply(Other, folder / "slowdown", "6.1.0-1")
    return Slowed, Other


def test_calls_are_longer_in_proportion_under_the_named_kernel_alone(tmp_path: Path) -> None:
    slowed, other = _slowed(tmp_path)
    assert 0.0029 < _seconds(slowed) < 0.0035
    assert _seconds(other) < 0.0025

    class Kind(Session): ...

    slowdown.apply(Kind, tmp_path / "none", "6.1.0-1")
    assert Kind.run is Session.run, "without a file calls are left alone"


def test_what_the_waiting_itself_takes_is_in_proportion_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that takes 20 µs to read, as in an emulated machine; without it the ratio would be 1.35 or so."""
    monkeypatch.setattr(slowdown, "time", SimpleNamespace(perf_counter_ns=_slow_clock))
    slowed, other = _slowed(tmp_path)
    # Side by side, since the processor's speed moves: the least of either alone may be of a faster moment.
    ratios = [_seconds(slowed, 200e-6) / _seconds(other, 200e-6) for _ in range(20)]
    assert 1.42 < statistics.median(ratios) < 1.58


def _slow_clock() -> int:
    begun = time.perf_counter_ns()
    while time.perf_counter_ns() < begun + 20_000:
        pass
    return time.perf_counter_ns()
