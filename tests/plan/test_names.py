"""What can be asked for by name."""

import pytest

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make, pair
from levelfield.plan.names import names_of_models, why_not
from levelfield.zoo import models

CPUS = (0, 1)
OPERATOR = "gemm-768x128x768"


def test_every_framework_has_every_model_and_operator() -> None:
    for name in registry.names():
        if not registry.get(name).wraps:
            assert not [each for each in (*names_of_models(), *models.operators()) if why_not(name, each)]


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (Selection(models=("vit",), backends=("keras-jax",)), "no definition of vit here"),
        (Selection(models=("mlp", "mobilenet"), backends=("keras-jax",)), "no definition of mobilenet here"),
        (Selection(models=("decoder",), scenarios=("decode",), backends=("keras-torch",)), "no definition of decoder"),
        (Selection(models=("embedder",), scenarios=("training",), backends=("keras-torch",)), "of embedder here"),
        (Selection(models=(OPERATOR,), backends=("keras-torch",)), "no definition of single operators here"),
        (Selection(scenarios=("operators",), backends=("keras-torch",)), "no definition of single operators here"),
    ],
)
def test_what_nobody_has_is_refused(selection: Selection, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says) as caught:
        make(selection, available=CPUS)
    assert caught.value.fix.startswith("Ask for mlp, resnet50, bert, or name another backend: torch, ")


def test_beside_a_framework_it_is_absent_and_needs_no_image() -> None:
    selection = Selection("smoke", models=("vit",), backends=("keras-torch", "jax"), control="none")
    made = make(selection, available=CPUS)
    assert [arm.id for arm in made.blocks[0].arms] == ["keras-torch", "jax"]
    assert made.images == ("jax", "canary")


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (Selection(models=("vit",), scenarios=("latency",)), "keras-torch has no definition of vit here"),
        (
            Selection(models=("mlp",), scenarios=("latency",), precisions=("bf16",)),
            "keras-torch runs fp32 here, not bf16",
        ),
    ],
)
def test_a_pair_of_which_one_alone_answers_is_refused(selection: Selection, says: str) -> None:
    with pytest.raises(LevelfieldError, match=f"nothing that torch and keras-torch both do. {says}"):
        pair(selection, "torch", "keras-torch", available=CPUS)
