from pathlib import Path

import msgspec
import pytest

from suite.history import folders, queries, summary
from suite.history.store import FILE, Store
from suite.record import files
from tests.history.many import LATENCY, at, name, small_run, write_run


def fill(reports: Path, days: int, *, summarised: bool = True) -> None:
    for day in range(days):
        run = msgspec.structs.replace(small_run(seed=day), id=name(day), started=at(day))
        write_run(run, reports / run.id, summarised=summarised)


def entered(address: str) -> list[str]:
    store = Store(address)
    try:
        return [point.run for one in queries.series(store, [LATENCY], labelled=True) for point in one.points]
    finally:
        store.close()


def quiet(text: str) -> None:
    del text


@pytest.fixture
def address(tmp_path: Path) -> str:
    (tmp_path / "reports").mkdir()
    return f"sqlite:///{tmp_path / 'reports' / FILE}"


def enter_new(address: str, reports: Path) -> folders.Outcome:
    store = Store(address)
    try:
        return folders.enter_new(store, reports, quiet)
    finally:
        store.close()


@pytest.mark.parametrize("summarised", [True, False])
def test_new_folders_are_entered_once(address: str, reports: Path, summarised: bool) -> None:
    fill(reports, 3, summarised=summarised)
    outcome = enter_new(address, reports)
    assert (outcome.entered, outcome.analysed, outcome.skipped) == (3, 0 if summarised else 3, ())
    assert entered(address) == [name(0), name(1), name(2)]
    again = enter_new(address, reports)
    assert (again.entered, again.analysed) == (0, 0)


def test_a_rebuilt_store_is_the_same_and_asks_the_records(address: str, reports: Path) -> None:
    fill(reports, 3)
    enter_new(address, reports)
    before = entered(address)
    outcome = folders.rebuild(address, reports, quiet, own=True)
    assert (outcome.entered, outcome.analysed) == (3, 0)
    assert entered(address) == before


def test_a_rebuilt_store_believes_no_summary_of_another_record(address: str, reports: Path) -> None:
    fill(reports, 2)
    record = reports / name(1) / files.NAME
    record.write_bytes(record.read_bytes().replace(b'"tool_version":"0.1.0"', b'"tool_version":"0.1.1"'))
    assert folders.rebuild(address, reports, quiet, own=True).analysed == 1


def test_a_store_forgets_what_has_no_folder_when_rebuilt(address: str, reports: Path) -> None:
    fill(reports, 3)
    enter_new(address, reports)
    (reports / name(0)).rename(reports.parent / "away")
    folders.rebuild(address, reports, quiet, own=True)
    assert entered(address) == [name(1), name(2)]


def test_a_shared_store_keeps_the_runs_of_others_when_rebuilt(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'team.sqlite'}"
    fill(tmp_path / "mine", 2)
    enter_new(address, tmp_path / "mine")
    theirs = msgspec.structs.replace(small_run(seed=9), id=name(9), started=at(9))
    write_run(theirs, tmp_path / "theirs" / theirs.id)
    enter_new(address, tmp_path / "theirs")
    assert folders.rebuild(address, tmp_path / "mine", quiet, own=False).entered == 2
    assert entered(address) == [name(0), name(1), name(9)]


def test_a_damaged_store_is_rebuilt(address: str, reports: Path) -> None:
    fill(reports, 2)
    (reports / FILE).write_bytes(b"\0" * 5000)
    folders.rebuild(address, reports, quiet, own=True)
    assert entered(address) == [name(0), name(1)]
    assert [path.name for path in reports.iterdir() if path.name.startswith(".")] == []


def test_broken_records_are_named_and_the_others_entered(address: str, reports: Path) -> None:
    fill(reports, 2)
    for folder, content in {
        "cut": (reports / name(0) / files.NAME).read_bytes()[:1000],
        "newer": b'{"schema": 99}',
        "empty": b"",
        "deep": b"[" * 100_000,
    }.items():
        (reports / folder).mkdir()
        (reports / folder / files.NAME).write_bytes(content)
    (reports / "folder").mkdir()
    (reports / "folder" / files.NAME).mkdir()
    late = msgspec.structs.replace(small_run(), id="late", started="some day")
    files.write(late, _made(reports / "late"))
    outcome = enter_new(address, reports)
    assert entered(address) == [name(0), name(1)]
    assert {one.folder for one in outcome.skipped} == {"cut", "newer", "empty", "deep", "folder", "late"}
    reasons = {one.folder: one.reason for one in outcome.skipped}
    assert "schema 99" in reasons["newer"]
    assert "no time" in reasons["late"]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_renamed_folder_is_its_run_and_is_not_analysed_twice(address: str, reports: Path) -> None:
    fill(reports, 1, summarised=False)
    (reports / name(0)).rename(reports / "before-the-upgrade")
    assert enter_new(address, reports).analysed == 1
    assert enter_new(address, reports).analysed == 0
    assert entered(address) == [name(0)]


def test_a_stranger_does_not_take_the_place_of_a_run(address: str, reports: Path) -> None:
    fill(reports, 1)
    enter_new(address, reports)
    before = (reports / name(0) / summary.NAME).read_bytes()
    stranger = msgspec.structs.replace(small_run(seed=5, generations=6), id=name(0), started=at(0))
    write_run(stranger, reports / "a-stranger")
    outcome = enter_new(address, reports)
    assert [one.folder for one in outcome.skipped] == ["a-stranger"]
    rebuilt = folders.rebuild(address, reports, quiet, own=True)
    assert [one.folder for one in rebuilt.skipped] == ["a-stranger"]
    store = Store(address)
    assert store.sizes() == {name(0): msgspec.json.decode(before)["record_bytes"]}
    store.close()


def test_a_run_taken_up_again_is_entered_anew(address: str, reports: Path) -> None:
    fill(reports, 1)
    enter_new(address, reports)
    longer = msgspec.structs.replace(small_run(seed=0, generations=7), id=name(0), started=at(0))
    files.write(longer, reports / name(0))
    outcome = enter_new(address, reports)
    assert (outcome.entered, outcome.analysed) == (1, 1)
    assert entered(address) == [name(0)]
