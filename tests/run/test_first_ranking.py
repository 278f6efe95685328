"""Which two arms are ranked first, while the images of the others are fetched."""

import pytest

from suite.launchers.host import HostLauncher
from suite.plan import Selection, make
from suite.run import first_ranking
from suite.run.options import Options

CPUS = (0, 1)
IMAGES = {
    "torch": frozenset({"torch"}),
    "torch-compile": frozenset({"torch"}),
    "jax": frozenset({"jax"}),
    "onnxruntime": frozenset({"onnxruntime", "exporter"}),
    "openvino": frozenset({"openvino", "exporter"}),
}
SECONDS = {"torch": 80.0, "jax": 50.0, "onnxruntime": 15.0, "openvino": 25.0, "exporter": 60.0}


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ((), ("onnxruntime", "openvino")),
        (("exporter", "onnxruntime"), ("onnxruntime", "openvino")),
        (("jax", "torch"), ("torch", "jax")),
        (("jax",), ("torch", "jax")),
    ],
)
def test_the_two_that_can_be_measured_soonest(there: tuple[str, ...], expected: tuple[str, str]) -> None:
    seconds = SECONDS | dict.fromkeys(there, 0.0)
    if there == ("jax",):
        seconds["exporter"] = 200.0
    assert first_ranking.quickest(IMAGES, seconds) == expected


def test_two_forms_of_one_framework_are_no_choice() -> None:
    assert first_ranking.quickest({name: IMAGES[name] for name in ("torch", "torch-compile")}, SECONDS) == ()
    assert first_ranking.quickest({"jax": IMAGES["jax"]}, SECONDS) == ()


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


def test_where_nothing_is_made_nothing_comes_first() -> None:
    chosen = make(Selection(models=("mlp",)), available=CPUS)
    assert first_ranking.choose(chosen, HostLauncher(), "debian") == ((), ())


def test_a_run_that_never_ranks_has_no_first_ranking() -> None:
    chosen = make(Selection(profile="smoke", models=("mlp",)), available=CPUS)
    assert first_ranking.choose(chosen, HostLauncher(), "debian") == ((), ())
