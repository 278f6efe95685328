"""One model, trained by two processes inside one container, by every framework's own engine."""

from pathlib import Path

import docker
import pytest

from levelfield import plan
from tests.benches import once, parity_of
from tests.engines import none_left

ENGINES = {
    "torch": "DistributedDataParallel over gloo",
    "tensorflow": "MultiWorkerMirroredStrategy over RING",
    "jax": "jax.distributed, shard_map over 2 devices, one all-reduce over gloo",
}


@pytest.mark.docker
def test_two_processes_train_as_one_does(engine: docker.DockerClient, reports: Path) -> None:
    asked = plan.Selection(
        profile="smoke",
        models=("mlp",),
        backends=tuple(ENGINES),
        scenarios=("training",),
        batches=(64,),
        processes=(2,),
        control="none",
    )
    found = once(asked, reports, "docker")
    (block,) = found.run.blocks
    (generation,) = block.generations
    assert block.case.processes == 2
    assert block.case.id.endswith("/cpu/p2")
    for launch in (each for each in generation.launches if each.arm != block.canary):
        compared = parity_of(launch).training
        assert compared is not None
        assert isinstance(compared.errors.update, float), "of gradients that each process has of its own"
        assert (launch.settings["engine"], launch.settings["processes"]) == (ENGINES[launch.arm], "2")
        assert launch.memory is not None
        assert launch.memory.source.endswith("summed over 2 processes")
    for each in generation.rounds:
        assert {turn.arm for turn in each.turns if turn.window} == {*ENGINES, "canary"}
    assert f"2 processes with {block.case.threads} thread" in found.page.read_text(encoding="utf-8")
    assert none_left(engine)
