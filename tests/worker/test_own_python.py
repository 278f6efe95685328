"""A user's file is run once, with seeded generators, and has to return a network and arrays."""

from pathlib import Path

import numpy as np
import pytest

from levelfield.backends.protocol import Unsupported
from levelfield.worker.own_python import written

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


@pytest.mark.parametrize("function", ["alone", "lists", "objects", "none"])
def test_anything_else_is_unsupported(file: Path, function: str) -> None:
    with pytest.raises(Unsupported, match=r"has to return two things|have to be NumPy arrays"):
        written(str(file), function)


def test_its_own_errors_are_its_own(file: Path) -> None:
    with pytest.raises(RuntimeError, match="no weights here"):
        written(str(file), "fails")
