"""Folders that have a name and a journal: found by their names, made once, read with care."""

from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import Lost, NamedJournals
from levelfield.record.files import JOURNAL


class Event(msgspec.Struct):
    format: int = 1


ALL: NamedJournals[Event] = NamedJournals("orchard", "an", "orchards", 1, 100, msgspec.json.Decoder(Event))


def written(reports: Path, name: str, content: bytes) -> None:
    (ALL.make_folder(name, reports) / JOURNAL).write_bytes(content)


def test_names_are_those_with_a_journal(reports: Path) -> None:
    assert ALL.names(reports) == []
    written(reports, "b", b"")
    written(reports, "a", b"")
    ALL.make_folder("empty", reports)
    assert ALL.names(reports) == ["a", "b"]


def test_nothing_is_written_through_a_link(reports: Path) -> None:
    journal = ALL.make_folder("a", reports) / JOURNAL
    (reports / "notes").write_text("the last line has no end")
    journal.symlink_to(reports / "notes")
    with pytest.raises(LevelfieldError, match="cannot be written: Too many levels of symbolic links"):
        ALL.open("a", reports)
    assert (reports / "notes").read_text() == "the last line has no end"


@pytest.mark.parametrize("name", ["../a", "a/b", "", ".."])
def test_a_name_is_no_path(reports: Path, name: str) -> None:
    with pytest.raises(LevelfieldError, match="An orchard"):
        ALL.folder(name, reports)


def test_lines_that_cannot_be_read_are_lost(reports: Path) -> None:
    written(reports, "a", b'{"format":1}\nnonsense\n')
    assert ALL.read("a", reports) == [Event(), Lost(2)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"format":2}\n', "begun with a newer Levelfield: its journal has format 2, and this one reads 1"),
        (b'{"format":1}\n' * 10, "cannot be read"),
    ],
)
def test_what_is_newer_or_too_long_is_refused(reports: Path, content: bytes, says: str) -> None:
    written(reports, "a", content)
    with pytest.raises(LevelfieldError, match=says):
        ALL.read("a", reports)
