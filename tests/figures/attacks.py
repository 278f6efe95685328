"""Figures of the fuzzer and of the matrix of faults."""

from functools import cache

import msgspec

from tests.attacks.__main__ import Record as Fuzzed
from tests.faults.__main__ import Record as Faulted
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/security.md"


@cache
def fuzzed() -> Fuzzed:
    return msgspec.json.decode((TRIALS / "fuzz.json").read_bytes(), type=Fuzzed)


@cache
def faulted() -> Faulted:
    return msgspec.json.decode((TRIALS / "faults.json").read_bytes(), type=Faulted)


def _cases() -> list[object]:
    record = fuzzed()
    return [
        f"{record.cases:,}".replace(",", " "),
        len(record.accepted),
        len(record.failures),
        f"{record.slowest_s:.1f}",
        f"{record.grown_bytes / 1e6:.0f}",
    ]


def _faults() -> list[object]:
    results = faulted().results
    return [
        len(results),
        sum(each.kept for each in results),
        sum(each.lost for each in results),
        sum(each.left for each in results),
        sum(bool(each.differences) for each in results),
    ]


FIGURES = [
    Figure(
        PAGE,
        "{} cases for {} readers, of which {} failed; the slowest took {} s of processor time, and none took more than "
        "{} MB",
        _cases,
    ),
    Figure(
        PAGE, "{} faults: {} finished windows kept and {} lost, {} containers left, {} records that differ", _faults
    ),
]
