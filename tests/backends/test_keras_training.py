"""Keras's trainer in its own container: what it says of a step is true, and its optimizers follow the recipe.

The MLP alone, on one of the engines: the trainer is the same on all, and what runs for minutes is in
`tests/run/test_training_docker.py`.
"""

from pathlib import Path
from typing import Any

import docker
import pytest

from levelfield.zoo import models
from tests.backends import keras_training_child, updating_child
from tests.backends.update_rules import judged
from tests.engines import said_inside

pytestmark = pytest.mark.docker

BACKEND = "keras-jax"
FLOAT32_ROUNDING = 1e-5
MISTAKES = ("as Keras has it", "decay of biases and norms too")
RECIPES = {"mlp": "AdamW", "resnet50": "SGD"}
"""Models whose optimizers are of both kinds."""


@pytest.fixture(scope="module")
def said(engine: docker.DockerClient) -> dict[str, dict[str, Any]]:
    return said_inside(engine, BACKEND, _code(keras_training_child), BACKEND, *RECIPES)


@pytest.fixture(params=RECIPES)
def trained(request: pytest.FixtureRequest, said: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The kind of optimizer, and what the trainer says of its steps."""
    return RECIPES[request.param], said[request.param]


def _code(child: Any) -> str:
    return Path(child.__file__).read_text(encoding="utf-8")


def test_it_trains_and_answers_from_the_weights_that_it_is_given(trained: tuple[str, dict[str, Any]]) -> None:
    _, found = trained
    assert found["begins with the weights"], "and the throwaway step has left nothing"
    assert found["answers"] < FLOAT32_ROUNDING, "probabilities, though it trains on logits"
    assert found["loss"] < FLOAT32_ROUNDING


def test_gradients_are_read_from_the_first_moments(trained: tuple[str, dict[str, Any]]) -> None:
    _, found = trained
    assert found["gradients"].keys() == {parameter.name for parameter in models.get("mlp").trained}
    assert max(found["gradients"].values()) < FLOAT32_ROUNDING, found["gradients"]


def test_every_tensor_moves_and_keeps_its_shape(trained: tuple[str, dict[str, Any]]) -> None:
    _, found = trained
    assert found["moved"] == sorted(parameter.name for parameter in models.get("mlp").trained)
    assert all(found["shapes"].values())


def test_a_restart_forgets_weights_and_moments(trained: tuple[str, dict[str, Any]]) -> None:
    _, found = trained
    assert found["restarted"]
    assert found["forgotten"] < FLOAT32_ROUNDING, "the second step's loss follows from the first step's moments too"
    assert found["other weights"]


def test_it_says_what_of_keras_is_corrected(trained: tuple[str, dict[str, Any]]) -> None:
    kind, found = trained
    settings = found["settings"]
    corrected = {"AdamW": "epsilon beside the corrected root", "SGD": "coupled weight decay"}[kind]
    assert settings["optimizer"].startswith(f"keras.optimizers.{kind}, {corrected}: learning_rate, ")
    assert settings["mode"] == "train_on_batch"
    assert "BatchNorm" not in settings, "the MLP has none"


def test_what_it_cannot_train_is_refused(trained: tuple[str, dict[str, Any]]) -> None:
    _, found = trained
    unwritten, together = found["refused"]
    assert unwritten.endswith("has no definition in keras.")
    assert "ask for --processes 1" in together


@pytest.mark.parametrize("whose", RECIPES)
def test_the_rule_is_followed_and_keras_s_own_conventions_are_refused(engine: docker.DockerClient, whose: str) -> None:
    """All the other mistakes take a minute, and are made where Keras is installed: `test_update_rules.py`.

    With AdamW, Keras comes within half of the tolerance, where other frameworks stay below a fifth.
    """
    found = said_inside(engine, BACKEND, _code(updating_child), BACKEND, f"mlp/{whose}", *MISTAKES)
    assert found.keys() == {"right", *MISTAKES}
    judged(f"{BACKEND} mlp/{whose}", found)
