"""Races among the arms of published streams: the truth is known, and no rank contradicts it."""

from pathlib import Path

import pytest

from suite.trials.record import read
from suite.trials.rigor.races import races
from suite.trials.rigor.record import Stream
from suite.trials.rigor.table import lay_out

FOLDER = Path("reports/trials")
QUIET, BUSY, BUSY_AGAIN = "rigor-2026-11-21", "rigor-2026-11-22-busy", "rigor-2026-11-23-busy"
UNEQUAL = (1.0, 1.02, 1.05, 1.1, 1.5, 3.0)


def stream(name: str) -> Stream:
    return read(FOLDER / f"{name}.json", Stream)


@pytest.mark.parametrize("name", [QUIET, BUSY, BUSY_AGAIN])
def test_of_identical_arms_none_is_called_faster_nor_leaves(name: str) -> None:
    found = list(races(lay_out(stream(name).generations), [1.0] * 6))
    assert found
    assert not any(each.wrong or each.left for each in found)


def test_the_slow_ones_leave_and_nobody_is_called_faster_than_a_faster_one() -> None:
    found = list(races(lay_out(stream(QUIET).generations), UNEQUAL))
    assert len(found) > 5
    assert not any(each.wrong for each in found)
    assert all({4, 5} <= set(each.left) for each in found)
    assert not any({0, 1} & set(each.left) for each in found)
