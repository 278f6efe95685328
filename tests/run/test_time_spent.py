"""What a whole run's time is spent on, in real containers."""

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from levelfield import plan
from levelfield.analysis import analyse
from levelfield.analysis.time_spent import COUNTED, TITLES, summarise
from levelfield.record import files, journal
from levelfield.report import sentences, terminal
from levelfield.run.bench import conduct, finish
from levelfield.run.options import Options

ACCOUNTED = 0.95


@pytest.mark.docker
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

    found = summarise(run)
    assert found is not None
    windows_s = sum(
        turn.window.window_ns / 1e9
        for block in run.blocks
        for generation in block.generations
        for each in generation.rounds
        for turn in each.turns
        if turn.window is not None and turn.arm != block.canary
    )
    assert windows_s < spent["windows"]
    parts = {part.what: part.seconds for part in found.parts}
    assert parts[COUNTED] + parts.get("windows that do not count", 0.0) == pytest.approx(windows_s)
    out = io.StringIO()
    terminal.show(run, analyse(run), Console(file=out, width=200))
    assert " ".join(sentences.time_spent(found).split()) in " ".join(out.getvalue().split())
