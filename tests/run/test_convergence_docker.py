"""Real trainings to the target, in real containers."""

from pathlib import Path

import docker
import pytest

from levelfield import analysis
from levelfield.zoo.training import convergence
from tests.benches import bench, parity_of
from tests.engines import none_left

pytestmark = pytest.mark.docker

TRAINING = ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax")


@pytest.mark.parametrize(
    "backends", [("torch", "jax"), pytest.param(TRAINING, marks=pytest.mark.extended)], ids="+".join
)
def test_backends_train_the_mlp_to_the_target(
    engine: docker.DockerClient, tmp_path: Path, backends: tuple[str, ...]
) -> None:
    done = bench(tmp_path, "--scenarios", "convergence", "--backends", ",".join(backends))
    one = done.run
    (block,) = one.blocks
    assert {arm.id for arm in block.arms} == set(backends)
    assert {artifact.name for artifact in one.artifacts} >= {"digits"}
    assert [generation.index for generation in block.generations] == [0, 1]
    for generation in block.generations:
        assert generation.complete
        assert not generation.rounds
        expected = convergence.expected_start(convergence.goal("mlp"), generation.index)
        assert {launch.arm for launch in generation.launches} == set(backends)
        for launch in generation.launches:
            compared = parity_of(launch).training
            assert compared is not None
            assert isinstance(compared.errors.update, float)
            assert launch.convergence is not None
            assert launch.convergence.seed == generation.index
            assert launch.convergence.weights_sha256 == expected.weights_sha256
            assert launch.convergence.noise is not None
            assert launch.memory is not None
    (found,) = analysis.analyse(one).convergence
    assert all(row.seeds_reached == 2 and row.standing == "shown" for row in found.rows)
    assert "small MLP, training to 97.0\u00a0% on the digits" in done.out
    assert "Test accuracy of small MLP over training time" in done.page.read_text(encoding="utf-8")
    assert none_left(engine, done.pid)
