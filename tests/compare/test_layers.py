"""The first layer in which two files differ, and files that are not compared."""

from typing import Any

import pytest

from suite.compare.layers import VARIES, compare
from suite.record.schema import Image
from tests.layered import NAMES, digest, launch, layered

NAMED = ("a", "b")
RIGHT, WRONG = digest("right"), digest("wrong")


def test_like_files_are_the_same() -> None:
    one = layered(launch(RIGHT), launch(RIGHT))
    found = compare(one, one, NAMED)
    assert (found.state, found.layer) == ("same", "")
    assert found.answer == "All 4 layers are the same. The whole model's outputs are the same."


@pytest.mark.parametrize("begin", range(len(NAMES)))
def test_the_first_layer_that_differs_is_named(begin: int) -> None:
    found = compare(layered(launch(RIGHT)), layered(launch(WRONG, begin)), NAMED)
    assert (found.state, found.layer) == ("different", NAMES[begin])
    assert f"is {NAMES[begin]}, {begin + 1} of 4. The whole model's outputs differ." in found.answer


def test_a_whole_model_may_differ_where_no_layer_does() -> None:
    found = compare(layered(launch(RIGHT)), layered(launch(WRONG)), NAMED)
    assert (found.state, found.layer) == ("different", "")
    assert "No layer differs when the layers run one by one." in found.answer


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"arm": "torch"}, "one is of onnxruntime/mlp/fp32/b1/t2/cpu, the other of torch/mlp"),
        ({"threads": 1}, "the other of onnxruntime/mlp/fp32/b1/t1/cpu"),
        ({"image": Image(name="onnxruntime", variant="cpu", launcher="docker", layers=("2",))}, "their images"),
        ({"data": ("e",)}, "their weights or inputs"),
        ({"items": 4}, "their weights or inputs"),
        ({"hardware": {"cpu model": "two"}}, "their hardware is not alike: cpu model"),
    ],
)
def test_unlike_files_are_not_compared(changes: dict[str, Any], says: str) -> None:
    found = compare(layered(launch(RIGHT)), layered(launch(WRONG, 1), **changes), NAMED)
    assert (found.state, found.layer) == ("not comparable", "")
    assert says in found.answer


def test_launches_that_differ_among_themselves_say_nothing() -> None:
    found = compare(layered(launch(RIGHT)), layered(launch(RIGHT), launch(WRONG, 2)), NAMED)
    assert found.state == "not comparable"
    assert f"b says nothing: {VARIES}, first {NAMES[2]}." in found.answer
