"""A real small training bench, in real containers."""

from pathlib import Path

import docker
import pytest

from suite import analysis
from suite.records import files
from suite.running import REPORT
from tests.commands import run
from tests.engines import none_left
from tests.test_smoke import bench

pytestmark = [pytest.mark.docker, pytest.mark.slow]

TRAINING = ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax")


def test_every_training_equals_the_reference(engine: docker.DockerClient, tmp_path: Path) -> None:
    """All three models on all five backends, in the small batches of the smoke profile; some ten minutes."""
    one, _ = bench(tmp_path, "--launcher", "docker", "--scenarios", "training")
    assert [block.case.model for block in one.blocks] == ["mlp", "resnet50", "bert"]
    for block in one.blocks:
        launches = [launch for each in block.generations for launch in each.launches if launch.arm != block.canary]
        assert {launch.arm for launch in launches} == set(TRAINING)
        for launch in launches:
            assert launch.parity is not None, launch.failure
            assert launch.parity.training is not None
            assert launch.parity.equal, launch.parity.reason


def test_five_backends_train_the_mlp(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    reports = tmp_path / "reports"
    command = run(
        "bench", "--profile", "smoke", "--models", "mlp", "--scenarios", "training", "--reports", reports,
        folder=tmp_path,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
    folder = next(reports.glob("*/run.json")).parent
    one = files.read(folder)
    (block,) = one.blocks
    assert block.case.batch == 1000
    assert {arm.id for arm in block.arms} == set(TRAINING)
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
            assert launch.settings["training recipe"].startswith("AdamW, learning rate 0.001")
            assert launch.memory is not None
            assert isinstance(launch.memory.peak_rss_bytes, int)
        for each in generation.rounds:
            assert {turn.arm for turn in each.turns if turn.window} == {*TRAINING, "canary"}
    (timed,) = analysis.analyse(one).timed
    assert all(row.items_per_second and row.p90_ns and row.peak_bytes for row in timed.rows)
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert "Gradient norms, first step" in page
    assert "MLP, training, batch 1000" in command.out
    assert none_left(engine, command.pid)


def test_a_batch_that_does_not_fit_costs_its_own_case_only(engine: docker.DockerClient, tmp_path: Path) -> None:
    """BERT in batches of 1024 would keep some hundred gigabytes for its way back."""
    tmp_path.chmod(0o755)
    reports = tmp_path / "reports"
    command = run(
        "bench", "--profile", "smoke", "--models", "bert", "--backends", "jax", "--scenarios", "training",
        "--batch", "1,1024", "--control", "none", "--reports", reports,
        folder=tmp_path,
    )  # fmt: skip
    assert command.code == 1, command.err + command.out
    one = files.read(next(reports.glob("*/run.json")).parent)
    small, large = analysis.analyse(one).timed
    assert [row.standing for row in small.rows] == ["shown"]
    (row,) = large.rows
    assert row.standing == "failed"
    assert row.failure is not None
    assert row.failure.kind in {"out-of-memory", "crashed"}
    assert "memory" in row.failure.message
    assert none_left(engine, command.pid)
