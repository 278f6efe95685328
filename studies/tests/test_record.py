"""The records of trials: written, read back, and refused where they are none."""

from pathlib import Path

import msgspec
import pytest

from studies.record import read, write
from studies.rigor.record import Stream
from studies.tests.rigor.streams import Machine, stream
from suite.errors import LevelfieldError


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    before = stream(Machine())
    write(before, path)
    assert read(path, Stream) == before


@pytest.mark.parametrize(
    ("content", "says"), [(b"{", "not a record"), (b'{"schema": 1}', "not a record"), (b"[]", "not a record")]
)
def test_what_is_no_record_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "rigor.json"
    path.write_bytes(content)
    with pytest.raises(LevelfieldError, match=says):
        read(path, Stream)
    with pytest.raises(LevelfieldError, match="cannot be read"):
        read(tmp_path / "nothing.json", Stream)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rigor.json"
    write(msgspec.structs.replace(stream(Machine()), schema=99), path)
    with pytest.raises(LevelfieldError, match="schema 99"):
        read(path, Stream)
