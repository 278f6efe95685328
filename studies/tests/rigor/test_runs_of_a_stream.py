"""How stretches of a published stream scatter, as runs would: the figures of docs/upgrade-statistics.md."""

import msgspec
import numpy as np
import pytest

from studies.rigor.record import Stream, Table, lay_out
from suite.statistics.arrays import Floats
from tests.commands import ROOT


@pytest.fixture(scope="module")
def table() -> Table:
    path = ROOT / "reports/trials/rigor-2026-11-21.json"
    return lay_out(msgspec.json.decode(path.read_bytes(), type=Stream).generations)


def runs(logs: Floats, launches: int) -> Floats:
    """Return the mean log time of stretches of so many launches, shape (runs, arms)."""
    count = len(logs) // launches
    found: Floats = np.nanmean(np.nanmedian(logs, axis=1)[: count * launches].reshape(count, launches, -1), axis=1)
    return found


def between_neighbours(found: Floats) -> float:
    return float(np.nanstd(np.diff(found, axis=0)) / np.sqrt(2))


def test_more_launches_make_runs_agree_and_neither_turns_nor_the_canary_do(table: Table) -> None:
    assert table.canary_ns is not None
    arms, canary = np.log(table.median_ns), np.log(table.canary_ns)[:, :, None]
    five, ten = runs(arms, 5), runs(arms, 10)
    spread, spread_of_ten = (float(np.nanstd(each, axis=0, ddof=1).mean()) for each in (five, ten))
    assert spread == pytest.approx(0.031, abs=0.001)
    assert spread_of_ten == pytest.approx(0.019, abs=0.001)
    assert between_neighbours(five) == pytest.approx(0.028, abs=0.001)
    assert between_neighbours(five - runs(canary, 5)) == pytest.approx(0.042, abs=0.001)
    assert between_neighbours(five[:, :1] - five[:, 1:2]) == pytest.approx(0.008, abs=0.001)
