"""One bit, flipped in memory: of weights, and of an ONNX file."""

from pathlib import Path

import numpy as np
import pytest

from suite.backends.protocol import Source
from suite.worker.fault import flipped
from suite.worker.messages import Fault
from tests.backends.onnx_files import model

WEIGHTS = np.array([1.0, 2.0, 3.0], np.float32)


def _bits(before: bytes, after: bytes) -> list[int]:
    return [index for index, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]


def test_one_bit_of_the_weights_is_flipped_and_the_rest_is_shared() -> None:
    source = Source("mlp", 1, {"a": WEIGHTS, "b": WEIGHTS}, {})
    found = flipped(source, Fault("a", 1, 31))
    assert found.weights["a"].tolist() == [1.0, -2.0, 3.0]
    assert found.weights["b"] is WEIGHTS
    assert source.weights["a"].tolist() == [1.0, 2.0, 3.0]
    assert flipped(source, None) is source


def test_one_bit_of_an_onnx_file_is_flipped_in_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model({"w": WEIGHTS.tobytes()}))
    found = flipped(Source("mlp", 1, {}, {}, path), Fault("w", 2, 0))
    assert found.file is not None
    before, after = path.read_bytes(), found.file.read_bytes()
    (place,) = _bits(before, after)
    assert before[place] ^ after[place] == 1
    assert before[place - 8 : place + 4] == WEIGHTS.tobytes()


@pytest.mark.parametrize("fault", [Fault("c", 0, 0), Fault("a", 3, 0), Fault("a", -1, 0), Fault("a", 0, 32)])
def test_a_bit_that_is_not_there_is_refused(fault: Fault, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model({"a": WEIGHTS.tobytes()}))
    for source in (Source("mlp", 1, {"a": WEIGHTS}, {}), Source("mlp", 1, {}, {}, path)):
        with pytest.raises(ValueError, match=r"no tensor|no bit|no bytes"):
            flipped(source, fault)
