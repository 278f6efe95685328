"""The record of the folklore trial."""

from pathlib import Path

import msgspec
import pytest

from studies.commands import read
from studies.published_comparison.record import Folklore
from studies.tests.published_comparison.records import record
from suite.errors import LevelfieldError


def test_a_record_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "folklore.json"
    file.write_bytes(msgspec.json.encode(record()))
    assert read(file, Folklore) == record()
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(record(), schema=2)))
    with pytest.raises(LevelfieldError, match="schema 2"):
        read(file, Folklore)
