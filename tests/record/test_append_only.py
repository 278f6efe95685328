"""Folders that have a name and a journal: written with care."""

from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import NamedJournals
from levelfield.record.files import JOURNAL


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
