"""The batches of inputs that timed calls take in turn."""

import statistics
from pathlib import Path

import msgspec
import pytest

from levelfield.record.schema import Case
from levelfield.schedule import timed_inputs
from levelfield.worker import sources
from levelfield.zoo import inputs, models
from tests import canaries, hostile
from tests.schedule.windows import HONEST, launches_of, measured, turns_of


def test_nothing_is_measured_on_one_array(reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that keeps its answer for the array that it was given last computes in every timed call."""
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("remembers", reports)
    medians: dict[str, list[float]] = {wrong.id: [], HONEST.id: []}
    for turns in turns_of(run):
        for turn in turns:
            if turn.window is not None and turn.arm in medians:
                medians[turn.arm].append(statistics.median(turn.window.samples_ns))
    assert statistics.median(medians[wrong.id]) > 0.3 * statistics.median(medians[HONEST.id])
    for arm in (wrong, HONEST):
        for launch in launches_of(run, arm):
            assert launch.timed_inputs == timed_inputs.SETS
            assert launch.timed_inputs_sha256 == sources.rotation_digest(
                inputs.make(models.get("canary"), first, 1) for first in range(timed_inputs.SETS)
            )
            assert launch.inputs_sha256 != launch.timed_inputs_sha256


@pytest.mark.parametrize(
    ("model", "scenario", "batch", "sets"),
    [
        ("resnet50", "latency", 1, 4),
        ("resnet50", "throughput", 64, 2),
        ("resnet50", "throughput", 1024, 2),
        ("resnet50", "throughput", 36, 3),
        ("bert", "throughput-device", 128, 4),
        ("mlp", "latency", 1000, 4),
        ("resnet50", "training", 8, 1),
        ("mlp", "data-pipeline", 8, 1),
        ("resnet50", "memory", 1, 1),
        ("resnet50", "cold-start", 1, 1),
        ("resnet50", "convergence", 1, 1),
    ],
)
def test_how_many_batches_are_taken_in_turn(model: str, scenario: str, batch: int, sets: int) -> None:
    site = canaries.site(canaries.plan("latency"))
    assert timed_inputs.sets_of(site, msgspec.convert(_case(model, scenario, batch), Case)) == sets


def _case(model: str, scenario: str, batch: int) -> dict[str, str | int]:
    return {"model": model, "scenario": scenario, "precision": "fp32", "batch": batch, "threads": 1}
