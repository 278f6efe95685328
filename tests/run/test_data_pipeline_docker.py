"""The data pipeline in containers: each framework reads the same, computes the same, and says what it waited."""

from pathlib import Path

import pytest
from rich.console import Console

from levelfield import analysis, plan
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.run.bench import conduct
from levelfield.run.options import Options
from levelfield.zoo import models
from tests.benches import parity_of

FEEDS = {
    "torch": "DataLoader, items decoded in processes",
    "tensorflow": "tf.data, items decoded in threads",
    "jax": "NumPy in a thread",
}


@pytest.mark.docker
def test_every_framework_reads_the_same_and_says_what_it_waited(reports: Path) -> None:
    asked = plan.Selection(
        profile="smoke", models=("mlp",), backends=tuple(FEEDS), scenarios=("data-pipeline",), batches=(100,)
    )
    folder = conduct(
        plan.make(asked), Options(selection=asked, reports=reports, launcher="docker"), Console(quiet=True)
    )
    run = journal.fold(journal.read(folder / JOURNAL))
    (block,) = run.blocks
    assert models.get(block.case.model).dataset_items
    assert any(artifact.name == "mlp dataset" for artifact in run.artifacts)
    for generation in block.generations:
        for launch in (each for each in generation.launches if each.arm in FEEDS):
            parity_of(launch)
            assert launch.settings["feed"] == FEEDS[launch.arm]
        for turn in (turn for each in generation.rounds for turn in each.turns if turn.arm in FEEDS):
            assert turn.window is not None
            assert turn.window.waited_ns is not None
            assert 0 < turn.window.waited_ns <= sum(turn.window.samples_ns)
    (found,) = analysis.analyse(run).insights.waiting
    assert {arm.arm for arm in found.arms} == set(FEEDS)
    assert all(0 < arm.share.value < 1 for arm in found.arms)
