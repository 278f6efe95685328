"""The data pipeline in containers: each framework reads the same, computes the same, and says what it waited."""

from pathlib import Path

import pytest

from levelfield import analysis, plan
from levelfield.launchers.docker import DockerLauncher, connect
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.run.options import Options
from levelfield.run.start import start_run
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.schedule.run import RunInProgress
from levelfield.zoo import models

FEEDS = {
    "torch": "DataLoader, items decoded in processes",
    "tensorflow": "tf.data, items decoded in threads",
    "jax": "NumPy in a thread",
}


@pytest.mark.docker
def test_every_framework_reads_the_same_and_says_what_it_waited(reports: Path) -> None:
    chosen = plan.make(
        plan.Selection(
            profile="smoke", models=("mlp",), backends=tuple(FEEDS), scenarios=("data-pipeline",), batches=(100,)
        )
    )
    launcher = DockerLauncher(connect())
    site = prepare(chosen, launcher, SilentListener())
    try:
        folder = start_run(chosen, Options(seed=7, reports=reports), site)
        RunInProgress(folder, site, SilentListener()).measure()
    finally:
        remove_caches(site.caches)
    run = journal.fold(journal.read(folder / JOURNAL))
    (block,) = run.blocks
    assert models.get(block.case.model).dataset_items
    assert any(artifact.name == "mlp dataset" for artifact in run.artifacts)
    for generation in block.generations:
        for launch in (each for each in generation.launches if each.arm in FEEDS):
            assert launch.failure is None, launch.failure
            assert launch.parity is not None
            assert launch.parity.equal, launch.parity
            assert launch.settings["feed"] == FEEDS[launch.arm]
        for turn in (turn for each in generation.rounds for turn in each.turns if turn.arm in FEEDS):
            assert turn.window is not None
            assert turn.window.waited_ns is not None
            assert 0 < turn.window.waited_ns <= sum(turn.window.samples_ns)
    (found,) = analysis.analyse(run).insights.waiting
    assert {arm.arm for arm in found.arms} == set(FEEDS)
    assert all(0 < arm.share.value < 1 for arm in found.arms)
