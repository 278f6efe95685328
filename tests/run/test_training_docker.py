"""Training in real containers: a small bench, every framework on every model, and a batch that does not fit."""

from pathlib import Path

import docker
import pytest

from levelfield import analysis, plan
from levelfield.record.schema import TrainingParity
from levelfield.statistics.windows import least_calls
from tests.benches import bench, parity_of, verified
from tests.engines import none_left

pytestmark = pytest.mark.docker

TRAINING = ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax")
ALL = pytest.mark.extended
"""Marks what every backend trains: minutes."""


@pytest.mark.parametrize(
    ("model", "precision", "backends"),
    # Compilers take a minute and more for these; what they compile is the same network, and the MLP below.
    # Keras is the same on all its engines.
    [
        pytest.param("resnet50", "fp32", ("torch", "tensorflow", "tensorflow-xla", "jax"), marks=ALL),
        pytest.param("bert", "fp32", ("torch", "tensorflow", "jax"), marks=ALL),
        ("resnet50", "fp32", ("jax",)),
        pytest.param("mlp", "bf16", ("torch", "tensorflow", "jax"), marks=ALL),
        ("mlp", "bf16", ("torch",)),
        ("mlp", "fp32", ("keras-jax",)),
    ],
)
def test_every_training_equals_the_reference(
    engine: docker.DockerClient, model: str, precision: str, backends: tuple[str, ...]
) -> None:
    """The two large models, and one in bf16, each backend with one launch and no rounds.

    The MLP's whole run is below.
    """
    selection = plan.Selection(
        models=(model,),
        backends=backends,
        scenarios=("training",),
        precisions=(precision,),
        threads=(1,),  # all backends at once: two threads of each would wait for one another on two cores
    )
    outcomes = verified(engine, selection)
    assert {outcome.arm.id for outcome in outcomes} == set(backends)
    for outcome in outcomes:
        found = parity_of(outcome.launch)
        assert found.computed_in == precision
        assert (outcome.launch.computed is not None) == (precision != "fp32"), "of fp32 the errors say enough"
        _follows_the_rule(found.training)


@pytest.mark.parametrize("backends", [("tensorflow", "jax"), pytest.param(TRAINING, marks=ALL)], ids="+".join)
def test_backends_train_the_mlp(engine: docker.DockerClient, tmp_path: Path, backends: tuple[str, ...]) -> None:
    done = bench(tmp_path, "--scenarios", "training", "--backends", ",".join(backends))
    one = done.run
    (block,) = one.blocks
    assert block.case.batch == 1000
    assert {arm.id for arm in block.arms} == set(backends)
    assert one.settings.training_batches == {"mlp": (1000,)}
    for generation in block.generations:
        assert generation.complete
        for launch in generation.launches:
            if launch.arm == block.canary:
                continue
            assert launch.served == (), "its launches are its own: peak memory is a training's alone"
            _follows_the_rule(parity_of(launch).training)
            assert launch.settings["training recipe"].startswith("AdamW, learning rate 0.001")
            assert launch.memory is not None
            assert isinstance(launch.memory.peak_rss_bytes, int)
        for each in generation.rounds:
            assert {turn.arm for turn in each.turns if turn.window} == {*backends, "canary"}
    (timed,) = analysis.analyse(one).timed
    assert all(row.items_per_second and row.peak_bytes for row in timed.rows)
    fewest = least_calls(0.9)  # a slow machine takes fewer calls in a window
    assert all((row.p90_ns is not None) == (row.counts.calls >= fewest) for row in timed.rows)
    assert "Update rule, given gradients" in done.page.read_text(encoding="utf-8")
    assert "MLP, training, batch 1000" in done.out
    assert none_left(engine, done.pid)


def _follows_the_rule(training: TrainingParity | None) -> None:
    assert training is not None
    assert len(training.losses) == 10
    assert isinstance(training.errors.update, float), training.errors.update
    assert isinstance(training.tolerances.update, float)
    assert 0 < training.errors.update < training.tolerances.update < 1e-5
