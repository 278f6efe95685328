"""Runs by the names that people give them."""

from pathlib import Path

import pytest

from levelfield.compare.sides import find, load, load_all
from levelfield.errors import LevelfieldError
from levelfield.record import files
from tests.compare.runs import run


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    for name in ("20260101-a", "20260102-b"):
        folder = tmp_path / name
        folder.mkdir()
        files.write(run(name), folder)
    return tmp_path


def test_a_run_has_an_id_a_folder_and_a_file(reports: Path) -> None:
    record = reports / "20260101-a" / files.NAME
    assert find("20260101-a", reports) == record
    assert find(str(reports / "20260101-a"), reports / "elsewhere") == record
    assert find(str(record), reports / "elsewhere") == record


def test_a_misspelt_run_is_answered_with_what_is_close(reports: Path) -> None:
    with pytest.raises(LevelfieldError) as caught:
        find("20260101-x", reports)
    assert "20260101-a" in caught.value.fix


def test_a_folder_without_a_record_is_no_run(reports: Path) -> None:
    (reports / "notes").mkdir()
    with pytest.raises(LevelfieldError, match="holds no record"):
        find(str(reports / "notes"), reports)
    (reports / "notes" / files.JOURNAL).touch()
    with pytest.raises(LevelfieldError, match="was cut off") as caught:
        find("notes", reports)
    assert caught.value.fix == "Finish it with bench --resume."


def test_runs_are_loaded_in_order_with_their_digests(reports: Path) -> None:
    records = [find(name, reports) for name in ("20260102-b", "20260101-a")]
    found = load_all(records)
    assert [each.facts.id for each in found] == ["20260102-b", "20260101-a"]
    assert [each.facts.sha256 for each in found] == [load(record).facts.sha256 for record in records]
    assert len({each.facts.sha256 for each in found}) == 2


def test_what_is_no_record_is_refused(reports: Path) -> None:
    file = reports / "20260101-a" / files.NAME
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(LevelfieldError):
        load(file)
