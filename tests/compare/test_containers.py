"""What a container costs, on records whose truth is known."""

import msgspec
import pytest

from levelfield.compare.ab import compare_arms
from levelfield.compare.types import Comparison, Gate
from levelfield.record.schema import Arm, Run
from tests.compare.pairs import BARE, BOX, run
from tests.compare.pairs import places as record


def judged(made: Run) -> Comparison:
    return compare_arms(made, Gate(), "0" * 64)


def note(found: Comparison, begins: str) -> str:
    (one,) = [each for each in found.notes if each.startswith(begins)]
    return one


@pytest.mark.parametrize(
    ("first", "second", "factor"), [(BOX, BARE, 1 / 1.25), (BARE, BOX, 1.25)], ids=["box first", "box second"]
)
def test_the_cost_is_the_containers_whichever_arm_it_is(first: Arm, second: Arm, factor: float) -> None:
    found = judged(record(factor, first=first, second=second, scenarios=("latency", "memory")))
    said = note(found, "What the container costs in latency")
    assert said.startswith("What the container costs in latency, over the virtual environment: MLP +25\u00a0% (+2")
    assert note(found, "What the container costs in peak memory").count("MLP +25\u00a0%") == 1
    assert note(found, "onnxruntime+launcher=docker ran in a container").endswith(
        "onnxruntime+launcher=venv in a virtual environment of the same lock."
    )


def test_arms_of_one_place_are_not_told_of_places() -> None:
    twin = msgspec.structs.replace(BOX, ordinal=2)
    found = judged(run(1.0, first=BOX, second=twin, models=("mlp",), scenarios=("latency",)))
    assert not any("container" in each for each in found.notes)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (Arm("onnxruntime", "onnxruntime", launcher="venv", settings={"spinning": "off"}), "settings"),
        (Arm("onnxruntime", "onnxruntime", launcher="venv", inject="5%"), "injected slowdown"),
    ],
)
def test_what_differs_in_more_is_not_the_containers(other: Arm, says: str) -> None:
    found = judged(record(1.2, second=other, scenarios=("latency",)))
    assert says in note(found, "onnxruntime+launcher=docker ran in a container")
    assert not any(each.startswith("What the container costs") for each in found.notes)
