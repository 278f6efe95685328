"""The record of the folklore trial."""

from pathlib import Path

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.trials.folklore.record import Folklore
from suite.trials.record import read
from tests.trials.folklore.records import record


def test_a_record_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "folklore.json"
    file.write_bytes(msgspec.json.encode(record()))
    assert read(file, Folklore) == record()
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(record(), schema=2)))
    with pytest.raises(LevelfieldError, match="schema 2"):
        read(file, Folklore)
