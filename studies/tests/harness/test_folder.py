"""A model of the zoo as a folder of transformers: what the format's documentation says of the file."""

import json
from pathlib import Path

import numpy as np
import pytest

from studies.harness import folder
from suite.errors import LevelfieldError
from suite.prepare.own_weights import folder as own_weights


def test_the_file_is_a_header_and_the_tensors_one_after_the_other(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([0.5], dtype=np.float32)}
    folder.write_tensors(arrays, tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert length % folder.ALIGNMENT_BYTES == 0
    header = json.loads(content[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    buffer = content[8 + length :]
    assert len(buffer) == sum(array.nbytes for array in arrays.values())
    for name, array in arrays.items():
        begin, end = header[name]["data_offsets"]
        assert header[name]["dtype"] == "F32"
        found = np.frombuffer(buffer[begin:end], "<f4").reshape(header[name]["shape"])
        assert found.tolist() == array.tolist()


def test_no_other_model_is_written(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="mlp cannot be written"):
        folder.write("mlp", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_reader_of_such_folders_finds_what_was_written(tmp_path: Path) -> None:
    arrays = {"one": np.arange(6, dtype=np.float32).reshape(2, 3), "other.bias": np.array([0.5], dtype=np.float32)}
    (tmp_path / folder.CONFIG).write_text(json.dumps(folder.config()), encoding="utf-8")
    folder.write_tensors(arrays, tmp_path / folder.TENSORS)
    found = own_weights.read(tmp_path)
    assert set(found.tensors) == set(arrays)
    for name, array in arrays.items():
        assert found.read(name).tolist() == array.tolist()
