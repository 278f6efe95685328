"""What a backend is given to load."""

from pathlib import Path

import numpy as np
import pytest

from levelfield.backends.protocol import Arrays
from levelfield.worker.messages import Task
from levelfield.worker.sources import digest_of, files_in, rotation, rotation_digest, source_of
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
