"""One model, trained by two processes inside one container, by every framework's own engine."""

from pathlib import Path

import docker
import msgspec
import pytest

from levelfield import analysis, plan
from levelfield.launchers.docker import DockerLauncher
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.report import html
from levelfield.run.options import Options
from levelfield.run.start import start_run
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.schedule.run import RunInProgress
from tests.engines import none_left

ENGINES = {
    "torch": "DistributedDataParallel over gloo",
    "tensorflow": "MultiWorkerMirroredStrategy over RING",
    "jax": "jax.distributed, shard_map over 2 devices, one all-reduce over gloo",
}


@pytest.mark.docker
def test_two_processes_train_as_one_does(engine: docker.DockerClient, reports: Path) -> None:
    chosen = plan.make(
        plan.Selection(
            profile="smoke",
            models=("mlp",),
            backends=tuple(ENGINES),
            scenarios=("training",),
            batches=(64,),
            processes=(2,),
            control="none",
        )
    )
    once = tuple(msgspec.structs.replace(block, planned_generations=1) for block in chosen.blocks)
    chosen = msgspec.structs.replace(chosen, blocks=once)
    site = prepare(chosen, DockerLauncher(engine), SilentListener())
    try:
        folder = start_run(chosen, Options(seed=7, reports=reports), site)
        RunInProgress(folder, site, SilentListener()).measure()
    finally:
        remove_caches(site.caches)
    run = journal.fold(journal.read(folder / JOURNAL))
    (block,) = run.blocks
    (generation,) = block.generations
    assert block.case.processes == 2
    assert block.case.id.endswith("/cpu/p2")
    for launch in (each for each in generation.launches if each.arm != block.canary):
        assert launch.failure is None, launch.failure
        assert launch.parity is not None
        assert launch.parity.equal, launch.parity.reason
        assert launch.parity.training is not None
        assert isinstance(launch.parity.training.errors.update, float), "of gradients that each process has of its own"
        print(launch.arm, launch.parity.training.errors)
        assert launch.settings["engine"] == ENGINES[launch.arm]
        assert launch.settings["processes"] == "2"
        assert launch.memory is not None
        assert launch.memory.source.endswith("summed over 2 processes")
    for each in generation.rounds:
        assert {turn.arm for turn in each.turns if turn.window} == {*ENGINES, "canary"}
    page = html.render(run, analysis.analyse(run))
    assert f"2 processes with {block.case.threads} thread" in page
    assert none_left(engine)
