"""What an exporter says of its files."""

import hashlib
import importlib.metadata
from pathlib import Path

import pytest

from levelfield.zoo.exported import written


def test_files_are_named_with_their_digests_and_makers(tmp_path: Path) -> None:
    (tmp_path / "model.other").write_bytes(b"graph")
    (tmp_path / "beside").write_bytes(b"not named")
    found = written(tmp_path, ["model.other"], ["numpy"])
    assert found.files == {"model.other": hashlib.sha256(b"graph").hexdigest()}
    assert found.versions == {"numpy": importlib.metadata.version("numpy")}
    assert found.opset == 0


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        written(tmp_path, ["model.other"], [])
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        written(tmp_path, [], ["no-such-distribution"])
