"""PyTorch in its image: what is timed is compiled once, whatever else is asked of it."""

import docker
import pytest

from levelfield.launchers.docker import DockerLauncher

pytestmark = [pytest.mark.docker, pytest.mark.extended]

PROGRAM = """
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
print(counters["stats"]["unique_graphs"])
"""


def test_to_be_asked_for_its_kernels_compiles_nothing_again(engine: docker.DockerClient) -> None:
    image = DockerLauncher().prepare("torch", "cpu", None, print)
    python = "/opt/levelfield/env/bin/python"
    said = engine.containers.run(image.tag, ["-c", PROGRAM], entrypoint=python, remove=True, cpuset_cpus="0")
    assert said.decode().split() == ["1"]
