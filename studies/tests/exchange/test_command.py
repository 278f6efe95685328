"""The trial of exchangeability, on runs whose days lie apart by a known amount."""

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner

from studies.exchange import command
from suite.record import files
from tests.commands import ROOT
from tests.compare.runs import run

# ---- the command -----------------------------------------------------------------------------------------------------


def written(folder: Path, days: int, of_a_day: int) -> Path:
    for day in range(days):
        for number in range(of_a_day):
            name = f"day-{day}-run-{number}"
            record = msgspec.structs.replace(
                run(name, 10 * day + number, slower={"jax": 1 + 0.05 * day}, rounds=2, max_calls=3),
                started=f"2026-11-{10 + day:02d}T{10 + number}:00:00Z",
            )
            (folder / name).mkdir(parents=True)
            files.write(record, folder / name)
    return folder


def test_days_of_records_are_reported(tmp_path: Path) -> None:
    folder = written(tmp_path / "runs", 2, 3)
    found = CliRunner().invoke(command.main, [str(folder), "--out", str(tmp_path / "found.json")])
    assert found.exit_code == 0, found.output
    record = msgspec.json.decode((tmp_path / "found.json").read_bytes(), type=command.Record)
    (group,) = record.groups
    assert [each.session for each in group.runs] == [0, 0, 0, 1, 1, 1]
    assert group.spread.cases == 2
    assert group.in_lumps is not None
    assert group.in_lumps.session_pairs == 1
    text = (tmp_path / "found.md").read_text(encoding="utf-8")
    assert "6 runs in 2 sessions" in text
    assert "Comparisons of two sessions" in text


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """The published runs have no result in common: nothing can be said of days from them."""
    found = CliRunner().invoke(command.main, [str(ROOT / "reports"), "--out", str(tmp_path / "found.json")])
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    assert "no result was measured by two of them" in said or "no two sessions have 3 runs each" in said
    assert json.loads((tmp_path / "found.json").read_bytes())["groups"]


def test_no_record_is_an_error(tmp_path: Path) -> None:
    found = CliRunner().invoke(command.main, [str(tmp_path)])
    assert found.exit_code == 2
    assert "There is no run" in found.output
