"""What a backend is given to load."""

from pathlib import Path

import numpy as np
import pytest

from levelfield.backends.protocol import Arrays, Unsupported
from levelfield.worker.messages import Task
from levelfield.worker.sources import digest_of, files_in, rotation, rotation_digest, source_of, written
from levelfield.zoo import models, weights

MLP = Task("jax", "mlp", 2, 1)


def test_weights_are_made_or_read_and_are_the_same(tmp_path: Path) -> None:
    made = source_of(MLP)
    assert (made.model, made.batch, made.file) == ("mlp", 2, None)
    weights.save(models.get("mlp"), tmp_path / "weights")
    read = source_of(Task("jax", "mlp", 2, 1, weights_path=str(tmp_path / "weights")))
    assert weights.sha256(read.weights) == weights.sha256(made.weights)


def test_another_onnx_file_than_the_plan_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"graph")
    named = digest_of(files_in(tmp_path))
    task = Task("onnxruntime", "mlp", 1, 1, file_path=str(tmp_path / "model.onnx"), file_sha256=named)
    assert source_of(task).weights == {}
    (tmp_path / "model.onnx").write_bytes(b"another")
    with pytest.raises(ValueError, match=f"the plan names {named}"):
        source_of(task)
    source_of(task, hash_files=False)
    with pytest.raises(ValueError, match="no file was given"):
        source_of(Task("onnxruntime", "mlp", 1, 1))


def ranges(first: int) -> Arrays:
    return {"x": np.arange(first, first + 4, dtype=np.float32)}


def test_order_and_content_decide_the_digest() -> None:
    first, second, third = rotation(ranges, sets=3, batch=4)
    digests = {rotation_digest(each) for each in ([first, second], [second, first], [first, third], [first])}
    assert len(digests) == 4


NETWORK = """
import random
import numpy as np

W = np.random.rand(3).astype(np.float32) + random.random()

def build():
    return (lambda x: x * W), {"x": np.ones(3, np.float32)}

def row():
    return (lambda x, y: x + y), (np.ones(3), np.zeros((3, 3)).T)

def alone():
    return build

def array():
    return (lambda x: x), np.ones((16, 256), np.float32)

def lists():
    return build, [[1, 2]]

def objects():
    return build, (np.array([{}]),)

def none():
    return build, ()

def fails():
    raise RuntimeError("no weights here")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "network.py"
    path.write_text(NETWORK)
    return path


def test_two_workers_get_the_same_network(tmp_path: Path, file: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(NETWORK)
    one, same, again = (written(str(path), "build") for path in (file, other, file))
    assert one is again
    assert np.array_equal(one.network(one.inputs["x"]), same.network(same.inputs["x"]))


def test_inputs_in_a_row_get_names(file: Path) -> None:
    found = written(str(file), "row")
    assert list(found.inputs) == ["input 0", "input 1"]
    assert all(each.flags.c_contiguous for each in found.inputs.values())


def test_an_array_alone_is_one_input(file: Path) -> None:
    assert {name: each.shape for name, each in written(str(file), "array").inputs.items()} == {"input 0": (16, 256)}


@pytest.mark.parametrize("function", ["alone", "lists", "objects", "none"])
def test_anything_else_is_unsupported(file: Path, function: str) -> None:
    with pytest.raises(Unsupported, match=r"has to return two things|have to be NumPy arrays"):
        written(str(file), function)


def test_its_own_errors_are_its_own(file: Path) -> None:
    with pytest.raises(RuntimeError, match="no weights here"):
        written(str(file), "fails")
