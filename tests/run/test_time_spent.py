"""What a whole run's time is spent on, in real containers."""

import time
from pathlib import Path

import pytest
from rich.console import Console

from levelfield import plan
from levelfield.analysis.time_spent import TITLES
from levelfield.record import files, journal
from levelfield.run.bench import conduct, finish
from levelfield.run.options import Options

ACCOUNTED = 0.95


@pytest.mark.docker
@pytest.mark.alone  # what others take lies between its phases
def test_nearly_all_of_a_runs_time_is_accounted_for(tmp_path: Path) -> None:
    selection = plan.Selection(
        profile="smoke",
        models=("mlp",),
        backends=("jax", "onnxruntime"),
        scenarios=("cold-start", "memory", "latency", "training"),
    )
    chosen = plan.make(selection)
    began = time.monotonic()
    folder = conduct(chosen, Options(selection=selection, reports=tmp_path, launcher="docker"), Console(quiet=True))
    wall_s = time.monotonic() - began
    written = [each.seconds for each in journal.read(folder / files.JOURNAL) if isinstance(each, journal.TimeSpent)]
    finish(folder, Console(quiet=True))

    run = files.read(folder)
    spent = run.time_spent_s
    assert spent is not None
    assert sum(spent.values()) <= wall_s
    named = {name: seconds for name, seconds in spent.items() if name != "other"}
    assert sum(named.values()) >= ACCOUNTED * wall_s, spent
    assert spent.keys() <= TITLES.keys()
    assert spent["cold starts"] > 0
    assert spent["windows"] > 0
    assert len(written) == sum(len(block.generations) for block in run.blocks) + 1, "a kill loses one generation's"
