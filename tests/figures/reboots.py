"""Figures of docs/upgrade.md: a machine that rebooted, changed its kernel and lost its power."""

from functools import cache
from statistics import median

from studies.reboots.record import Record, Series
from studies.record import read
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/upgrade.md"


@cache
def _record() -> Record:
    return read(TRIALS / "reboots-2026-11-25.json", Record)


def _slowed() -> Series:
    (found,) = (each for each in _record().series if each.slowdown)
    return found


def _cut() -> Series:
    (found,) = (each for each in _record().series if not each.slowdown)
    return found


def _emulation() -> list[object]:
    record = _record()
    assert record.host_call_ns is not None
    slower = [median(each.call_ns for each in series.levels) / record.host_call_ns for series in record.series]
    return [5 * round(sum(slower) / len(slower) / 5)]


def _of_slowed() -> list[object]:
    series = _slowed()
    (case,) = series.cases
    sizes = (case.ratio, case.low, case.high)
    assert case.verdict == "slower"
    return [
        f"{100 * series.slowdown:g}",
        len(series.boots),
        series.boots[-1].counted,
        *(f"{100 * (size - 1):.0f}" for size in sizes if size is not None),
    ]


def _of_cut() -> list[object]:
    series = _cut()
    (case,) = series.cases
    assert case.verdict == "not decided"
    return [
        sum(boot.cut for boot in series.boots),
        series.boots[-1].counted,
        len(series.boots),
        series.windows_kept + series.windows_lost,
        series.windows_lost,
        *(f"{size:.3f}" for size in (case.ratio, case.low, case.high) if size is not None),
    ]


FIGURES = [
    Figure(PAGE, "makes a call some {} times slower", _emulation),
    Figure(
        PAGE,
        "*{} % slower under the new kernel* (a wait is added to each call): of {} boots, {} count, and each knew its "
        "side. The verdict is *slower*, by {} % ({}–{} %)",
        _of_slowed,
    ),
    Figure(
        PAGE,
        "*No slowdown, and {} power cuts* at random moments: {} of {} boots count. Of {} windows that were on the disk "
        "when the power went, {} are lost, and the next boot went on by itself. The verdict is *not decided*, "
        "{} ({}–{})",
        _of_cut,
    ),
]
