"""Figures of the matrix of faults."""

from functools import cache

import msgspec

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


FIGURES = [
    Figure(
        PAGE, "{} faults: {} finished windows kept and {} lost, {} containers left, {} records that differ", _faults
    ),
]
