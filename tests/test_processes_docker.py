"""One model, trained by two processes inside one container, by every framework's own engine."""

from pathlib import Path

import docker
import pytest

from suite import analysis
from suite.analysis import scaling
from suite.records import files
from suite.running import REPORT
from tests.commands import run
from tests.engines import none_left

ENGINES = {
    "torch": "DistributedDataParallel over gloo",
    "tensorflow": "MultiWorkerMirroredStrategy over RING",
    "jax": "jax.distributed, batches sharded over 2 devices, over gloo",
}


@pytest.mark.docker
@pytest.mark.slow
def test_two_processes_train_as_one_does(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    reports = tmp_path / "reports"
    command = run(
        "bench", "--profile", "smoke", "--models", "mlp", "--backends", ",".join(ENGINES), "--scenarios", "training",
        "--processes", "2", "--batch", "64", "--control", "none", "--reports", reports,
        folder=tmp_path,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
    folder = next(reports.glob("*/run.json")).parent
    one = files.read(folder)
    (block,) = one.blocks
    assert block.case.id == "mlp/training/fp32/b64/t1/cpu/p2"
    for generation in block.generations:
        for launch in (each for each in generation.launches if each.arm != block.canary):
            assert launch.failure is None, launch.failure
            assert launch.parity is not None
            assert launch.parity.equal, launch.parity.reason
            assert launch.settings["engine"] == ENGINES[launch.arm]
            assert launch.settings["processes"] == "2"
            assert launch.memory is not None
            assert launch.memory.source.endswith("summed over 2 processes")
        for each in generation.rounds:
            assert {turn.arm for turn in each.turns if turn.window} == {*ENGINES, "canary"}
    found = analysis.analyse(one)
    assert scaling.summarise(one, found) == (), "there is nothing to scale from"
    assert "2 processes with 1 thread each" in (folder / REPORT).read_text(encoding="utf-8")
    assert none_left(engine, command.pid)
