"""All combinations of changes to an arm."""

import pytest

from suite.errors import LevelfieldError
from suite.plan import Selection, several
from suite.plan.crossing import cross


def test_two_changes_have_four_combinations() -> None:
    axes, arms = cross("onnxruntime@1.29.0", ["onnxruntime@1.30.0", "onnxruntime@1.29.0+spinning=off"])
    assert [axis.name for axis in axes] == ["@1.30.0", "spinning=off"]
    assert [arm.id for arm in arms] == [
        "onnxruntime@1.29.0",
        "onnxruntime@1.29.0+spinning=off",
        "onnxruntime@1.30.0",
        "onnxruntime@1.30.0+spinning=off",
    ]


def test_three_changes_have_eight_and_each_may_be_of_the_version_that_is_current() -> None:
    axes, arms = cross("onnxruntime@1.29.0", ["onnxruntime", "onnxruntime@1.29.0+spinning=off+graph=off"])
    assert [axis.name for axis in axes] == ["@current", "graph=off+spinning=off"]
    assert len({arm.id for arm in arms}) == 4
    assert arms[-1].id == "onnxruntime+graph=off+spinning=off"


@pytest.mark.parametrize(
    ("first", "others", "says"),
    [
        ("onnxruntime", ["openvino", "onnxruntime+spinning=off"], "different backends"),
        ("onnxruntime", ["onnxruntime", "onnxruntime+spinning=off"], "changes nothing"),
        ("onnxruntime", ["onnxruntime+spinning=off", "onnxruntime+spinning=off"], "same thing: spinning"),
        ("onnxruntime@1.29.0", ["onnxruntime@1.30.0", "onnxruntime"], "same thing: its version"),
        ("onnxruntime+spinning=off", ["onnxruntime", "onnxruntime+graph=off"], "does not say what spinning is"),
        ("onnxruntime", ["onnxruntime+launcher=venv", "onnxruntime+graph=off"], "names a launcher"),
        ("onnxruntime", ["onnxruntime+graph=off"] * 4, "16 combinations"),
    ],
)
def test_what_cannot_be_crossed_is_refused(first: str, others: list[str], says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        cross(first, others)


def test_a_plan_holds_them_in_their_order() -> None:
    _, arms = cross("onnxruntime", ["onnxruntime+graph=off", "onnxruntime+spinning=off"])
    made = several(Selection(models=("mlp",), scenarios=("latency",)), arms, available=(0, 1))
    assert [arm.id for block in made.blocks for arm in block.arms] == [arm.id for arm in arms]
