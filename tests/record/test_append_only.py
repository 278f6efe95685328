"""Folders that have a name and a journal: written with care."""

from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import NamedJournals
from levelfield.record.files import JOURNAL
from tests.unprivileged import ordinary_user


class Event(msgspec.Struct, forbid_unknown_fields=True):
    format: int = 1


ALL: NamedJournals[Event] = NamedJournals("orchard", "an", "orchards", 1, 100, msgspec.json.Decoder(Event))


def test_nothing_is_written_through_a_link(reports: Path) -> None:
    journal = ALL.make_folder("a", reports) / JOURNAL
    (reports / "notes").write_text("the last line has no end")
    journal.symlink_to(reports / "notes")
    with pytest.raises(LevelfieldError, match="cannot be written: Too many levels of symbolic links"):
        ALL.open("a", reports)
    assert (reports / "notes").read_text() == "the last line has no end"


def test_what_may_not_be_looked_into_is_never_taken_for_absent(reports: Path) -> None:
    ALL.open("a", reports).close()
    folder = ALL.folder("a", reports)
    folder.chmod(0)
    with ordinary_user():
        assert ALL.names(reports) == ["a"]
        with pytest.raises(LevelfieldError, match="cannot be read: Permission denied"):
            ALL.read("a", reports)
        folder.parent.chmod(0)
        with pytest.raises(LevelfieldError, match="cannot be read: Permission denied"):
            ALL.names(reports)
