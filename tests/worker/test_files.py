"""Digests of files that stand in several pieces."""

import hashlib
from pathlib import Path

from levelfield.worker.files import digest_of, files_in


def test_files_are_digested_by_name(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"graph")
    (tmp_path / "model.onnx.data").write_bytes(b"weights")
    (tmp_path / "manifest.json").write_bytes(b"{}")
    (tmp_path / "model.onnx.folder").mkdir()
    assert files_in(tmp_path, "model.onnx*") == {
        "model.onnx": hashlib.sha256(b"graph").hexdigest(),
        "model.onnx.data": hashlib.sha256(b"weights").hexdigest(),
    }
    assert len(files_in(tmp_path)) == 3


def test_one_digest_for_a_set_of_files() -> None:
    assert digest_of({"a": "1", "b": "2"}) == digest_of({"b": "2", "a": "1"})
    assert len({digest_of(files) for files in ({}, {"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"})}) == 5
