"""PyTorch in its image: what is timed is compiled once, whatever else is asked of it."""

import docker
import pytest

from tests.engines import said_inside

pytestmark = [pytest.mark.docker, pytest.mark.extended]

PROGRAM = """
import json

from torch._dynamo.utils import counters

from levelfield.backends.protocol import Options, Source
from levelfield.backends.torch_compile import TorchCompile
from levelfield.zoo import inputs, models, weights

mlp = models.get("mlp")
example = inputs.make(mlp, 0, 1)
backend = TorchCompile(Options(threads=1))
step = backend.load(Source(model="mlp", batch=1, weights=weights.make(mlp), example=example))
assert backend.computed(example).kernels
step(example)
print(json.dumps(counters["stats"]))
"""


def test_to_be_asked_for_its_kernels_compiles_nothing_again(engine: docker.DockerClient) -> None:
    assert said_inside(engine, "torch", PROGRAM)["unique_graphs"] == 1
