"""Seeded inputs of a user's own file."""

from pathlib import Path

import numpy as np

from levelfield.zoo import own_inputs
from levelfield.zoo.spec import Own, OwnInput
from levelfield.zoo.weights import sha256

MODEL = Own(
    (
        OwnInput("x", "float32", (3, 4), batched=True),
        OwnInput("ids", "int64", (7,), batched=True),
        OwnInput("k", "float16", (2,), batched=False),
    )
)


def test_the_same_bits_as_ever() -> None:
    assert sha256(own_inputs.make(MODEL, 0, 2)) == "abb610455e9ebff1f3901b0d0024e4ea0f47332dfc73100bd492617d6f2f69b6"


def test_an_item_does_not_depend_on_its_batch() -> None:
    two, four = own_inputs.make(MODEL, 2, 2), own_inputs.make(MODEL, 0, 4)
    for name in ("x", "ids"):
        np.testing.assert_array_equal(two[name], four[name][2:])
    assert not np.array_equal(four["x"][0], four["x"][1])


def test_values_of_ones_own_are_taken_in_turn(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    batched = Own((OwnInput("x", "float32", (2,), batched=True, path=str(tmp_path / "x.npy")),))
    np.testing.assert_array_equal(own_inputs.make(batched, 2, 2)["x"], [[4, 5], [0, 1]])
    whole = Own((OwnInput("x", "float32", (3, 2), batched=False, path=str(tmp_path / "x.npy")),))
    for start in (0, 1):
        found = own_inputs.make(whole, start, 1)["x"]
        np.testing.assert_array_equal(found, np.arange(6).reshape(3, 2))
        assert type(found) is np.ndarray, "not a view of the file"
