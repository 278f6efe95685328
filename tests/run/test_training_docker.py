"""Training in real containers: a small bench, every framework on every model, and a batch that does not fit."""

from pathlib import Path

import docker
import pytest

from levelfield import analysis, plan
from levelfield.launchers.docker import DockerLauncher
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import TrainingParity
from levelfield.schedule.launches import bring_up
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.outcomes import end_workers
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.schedule.training_verification import verify_trainings
from levelfield.statistics.windows import least_calls
from tests.commands import run
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
    chosen = plan.make(
        plan.Selection(
            profile="smoke",
            models=(model,),
            backends=backends,
            scenarios=("training",),
            precisions=(precision,),
            threads=(1,),  # all backends at once: two threads of each would wait for one another on two cores
            control="none",
        )
    )
    (block,) = chosen.blocks
    assert {arm.id for arm in block.arms} == set(backends)
    site = prepare(chosen, DockerLauncher(engine), SilentListener())
    try:
        outcomes = bring_up(site, block.case, block.arms, verify=False, launch_measured=False)
        try:
            verify_trainings(site, block.case, outcomes)
        finally:
            end_workers(outcomes)
    finally:
        remove_caches(site.caches)
    for outcome in outcomes:
        assert outcome.launch.parity is not None, outcome.launch.failure
        assert outcome.launch.parity.training is not None
        assert outcome.launch.parity.equal, outcome.launch.parity.reason
        assert outcome.launch.parity.computed_in == precision
        assert (outcome.launch.computed is not None) == (precision != "fp32"), "of fp32 the errors say enough"
        print(model, outcome.arm.id, outcome.launch.parity.training.errors)
        _follows_the_rule(outcome.launch.parity.training)
    assert none_left(engine)


@pytest.mark.parametrize("backends", [("tensorflow", "jax"), pytest.param(TRAINING, marks=ALL)], ids="+".join)
def test_backends_train_the_mlp(engine: docker.DockerClient, tmp_path: Path, backends: tuple[str, ...]) -> None:
    tmp_path.chmod(0o755)
    reports = tmp_path / "reports"
    command = run(
        "bench", "--profile", "smoke", "--models", "mlp", "--scenarios", "training",
        "--backends", ",".join(backends), "--reports", reports,
        folder=tmp_path,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
    folder = next(reports.glob("*/report.html")).parent
    one = files.read(folder)
    (block,) = one.blocks
    assert block.case.batch == 1000
    assert {arm.id for arm in block.arms} == set(backends)
    assert one.settings.training_batches == {"mlp": (1000,)}
    for generation in block.generations:
        assert generation.complete
        for launch in generation.launches:
            if launch.arm == block.canary:
                continue
            assert launch.failure is None
            assert launch.served == (), "its launches are its own: peak memory is a training's alone"
            assert launch.parity is not None
            assert launch.parity.equal, launch.parity.reason
            assert launch.parity.training is not None
            assert len(launch.parity.training.losses) == 10
            _follows_the_rule(launch.parity.training)
            assert launch.settings["training recipe"].startswith("AdamW, learning rate 0.001")
            assert launch.memory is not None
            assert isinstance(launch.memory.peak_rss_bytes, int)
        for each in generation.rounds:
            assert {turn.arm for turn in each.turns if turn.window} == {*backends, "canary"}
    (timed,) = analysis.analyse(one).timed
    assert all(row.items_per_second and row.peak_bytes for row in timed.rows)
    fewest = least_calls(0.9)  # a slow machine takes fewer calls in a window
    assert all((row.p90_ns is not None) == (row.counts.calls >= fewest) for row in timed.rows)
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert "Update rule, given gradients" in page
    assert "MLP, training, batch 1000" in command.out
    assert none_left(engine, command.pid)


def _follows_the_rule(training: TrainingParity) -> None:
    assert isinstance(training.errors.update, float), training.errors.update
    assert isinstance(training.tolerances.update, float)
    assert 0 < training.errors.update < training.tolerances.update < 1e-5
