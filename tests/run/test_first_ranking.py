"""Which two arms are ranked first, before the images of the others are made."""

from collections.abc import Callable, Collection, Mapping

import pytest

from levelfield.plan import Selection, make
from levelfield.run import first_ranking
from levelfield.run.options import Options

CPUS = (0, 1)
IMAGES = {
    "torch": frozenset({"torch"}),
    "torch-compile": frozenset({"torch"}),
    "jax": frozenset({"jax"}),
    "onnxruntime": frozenset({"onnxruntime", "exporter"}),
    "openvino": frozenset({"openvino", "exporter"}),
}
SECONDS = {"torch": 80.0, "jax": 50.0, "onnxruntime": 15.0, "openvino": 25.0, "exporter": 60.0}
BASE_S = 30.0


def cost(
    there: Collection[str] = (), seconds: Mapping[str, float] = SECONDS
) -> Callable[[frozenset[str]], tuple[float, int]]:
    """Return what images cost where some are there already; a base that they share is made once."""

    def costs(names: frozenset[str]) -> tuple[float, int]:
        absent_s = sum(seconds[name] for name in names - {*there}) + (BASE_S if names - {*there} else 0.0)
        return absent_s, int(sum(seconds[name] for name in names))

    return costs


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ((), ("onnxruntime", "openvino")),
        (("exporter", "onnxruntime"), ("onnxruntime", "openvino")),
        (("jax", "torch"), ("torch", "jax")),
        (("jax",), ("jax", "onnxruntime")),
        (tuple(SECONDS), ("onnxruntime", "openvino")),
    ],
)
def test_the_two_that_can_be_measured_soonest(there: tuple[str, ...], expected: tuple[str, str]) -> None:
    assert first_ranking.quickest(IMAGES, cost(there)) == expected


@pytest.mark.parametrize(
    ("models", "expected"), [(("mlp", "bert", "resnet50"), ["mlp", "resnet50"]), (("bert",), ["bert"])]
)
def test_the_first_run_is_of_latency_and_has_no_control(models: tuple[str, ...], expected: list[str]) -> None:
    asked = Options(selection=Selection(models=models, backends=("jax", "torch", "openvino")), labels=("mine",))
    found = first_ranking.narrowed(asked, make(asked.selection, available=CPUS), ("jax", "torch"))
    assert found.labels == ("mine", "so-far")
    blocks = make(found.selection, available=CPUS).blocks
    assert [(block.case.model, block.case.scenario) for block in blocks] == [(name, "latency") for name in expected]
    assert {arm.id for block in blocks for arm in block.arms} == {"jax", "torch"}
