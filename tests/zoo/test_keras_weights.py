"""A Keras layer's variables hold the tensors that they are filled with, in Keras's own shapes, and give them back."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    import docker

CHILD = Path(__file__).with_name("keras_weights_child.py")


@pytest.mark.docker
def test_variables_hold_the_tensors_they_are_filled_with(engine: "docker.DockerClient") -> None:
    from tests.engines import said_inside  # where frameworks are tested, there is no docker

    found = said_inside(engine, "keras-jax", CHILD.read_text(encoding="utf-8"))
    kernel = np.arange(24.0).reshape(4, 6)
    assert found["variables"] == {"kernel": [4, 6], "bias": [6]}
    assert found["all"] == 4, "a layer that was not filled is left out"
    assert found["copied"] == kernel.tolist()
    assert found["a copy"], "what the variable holds later is no part of it"
    assert found["bias"] == pytest.approx(np.arange(6) / 7, abs=1e-7)
    assert found["by heads"] == [4, 3, 2], "Keras has a layer of attention by heads"
    assert found["back"] == kernel.tolist()
    too_few, swapped = found["refused"]
    assert "argument 2 is shorter" in too_few
    assert swapped != "nothing"
