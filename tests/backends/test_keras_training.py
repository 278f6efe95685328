"""Keras's trainer in its own container: its optimizers follow the recipe.

The MLP alone, on one of the engines: the trainer is the same on all. What it says of its steps is compared with the
reference by every run that trains (`tests/run/test_training_docker.py`).
"""

from pathlib import Path

import docker
import pytest

from tests.backends import updating_child
from tests.backends.update_rules import judged
from tests.engines import said_inside

BACKEND = "keras-jax"
MISTAKES = ("as Keras has it", "decay of biases and norms too")


@pytest.mark.docker
@pytest.mark.parametrize("whose", ["mlp", "resnet50"])  # AdamW, and SGD
def test_the_rule_is_followed_and_keras_s_own_conventions_are_refused(engine: docker.DockerClient, whose: str) -> None:
    """With AdamW, Keras comes within half of the tolerance, where other frameworks stay below a fifth."""
    child = Path(updating_child.__file__).read_text(encoding="utf-8")
    found = said_inside(engine, BACKEND, child, BACKEND, f"mlp/{whose}", *MISTAKES)
    assert found.keys() == {"right", *MISTAKES}
    judged(f"{BACKEND} mlp/{whose}", found)
