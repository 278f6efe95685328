"""Figures of docs/upgrade.md: two image sets that stood for the sides of an upgrade."""

import json
import re
from typing import Any

from tests.figures.checking import Figure
from tests.figures.records import TRIALS

PAGE = "docs/upgrade.md"


def _row(name: str, verdict: str) -> Any:
    found = json.loads((TRIALS / f"sides-2026-11-25-{name}.json").read_text(encoding="utf-8"))
    (row,) = found["rows"]
    assert row["verdict"] == verdict
    return row


def _ratio(row: Any) -> list[str]:
    return [f"{row['ratio'][name]:.3f}" for name in ("value", "low", "high")]


def _drifted() -> list[object]:
    row = _row("three-runs", "drifted")
    return [row["new_replicates"], f"{100 * (row['drift']['value'] - 1):.0f}"]


def _again() -> list[object]:
    row = _row("five-runs-again", "not decided")
    return [row["new_replicates"], *_ratio(row)]


def _left_open() -> list[object]:
    row = _row("five-runs", "not decided")
    found = re.search(r"a drift of up to ([0-9.]+) % open", row["reason"])
    assert found is not None
    return [row["new_replicates"], *_ratio(row), found[1]]


FIGURES = [
    Figure(PAGE, "with {} runs a phase *drifted*, since the old version itself became {} % slower", _drifted),
    Figure(
        PAGE,
        "with {} runs *not decided*, {} ({}–{}), since the runs before and after leave a drift of up to {} % open",
        _left_open,
    ),
    Figure(PAGE, "with {} runs\nagain *not decided*, {} ({}–{})", _again),
    Figure(
        PAGE,
        "version on both sides *not decided*, {} ({}–{})",
        lambda: _ratio(_row("same", "not decided")),
    ),
]
