"""Figures of the fuzzer and of the matrix of faults."""

from functools import cache

import msgspec

from suite.launchers.disk_limit import LIMIT_BYTES
from tests.attacks.__main__ import Record as Fuzzed
from tests.faults.__main__ import Record
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/security.md"


@cache
def faulted() -> Record:
    return msgspec.json.decode((TRIALS / "faults.json").read_bytes(), type=Record)


def _faults() -> list[object]:
    results = faulted().results
    return [
        len(results),
        sum(each.kept for each in results),
        sum(each.lost for each in results),
        sum(each.left for each in results),
        sum(bool(each.differences) for each in results),
    ]


@cache
def fuzzed() -> Fuzzed:
    return msgspec.json.decode((TRIALS / "fuzz.json").read_bytes(), type=Fuzzed)


def _cases() -> list[object]:
    record = fuzzed()
    slowest = f"{record.slowest_s:.1f}"
    return [f"{record.cases:,}", len(record.readers), len(record.failures), slowest, f"{record.grown_bytes / 1e6:.0f}"]


FIGURES = [
    Figure(
        PAGE,
        "{} cases for {} readers, of which {} failed; the slowest took {} s of processor time, and none took more than "
        "{} MB",
        _cases,
    ),
    Figure(PAGE, "a launch that adds more than {} GiB to it", lambda: [LIMIT_BYTES >> 30]),
    Figure(
        PAGE, "{} faults: {} finished windows kept and {} lost, {} containers left, {} records that differ", _faults
    ),
]
