"""The batches of inputs that timed calls take in turn."""

import statistics
from pathlib import Path

import msgspec
import pytest

from levelfield.record.schema import Case
from levelfield.schedule import timed_inputs
from levelfield.schedule.launches import bring_up
from levelfield.schedule.outcomes import end_workers
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


def test_other_timed_inputs_cost_their_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    made = canaries.plan("latency")
    site = canaries.site(made)
    outcomes = bring_up(site, made.blocks[0].case, canaries.ARMS[:1])
    try:
        monkeypatch.setattr(timed_inputs, "_zoo_digest", lambda *_: "0" * 64)
        timed_inputs.rotate(site, made.blocks[0].case, outcomes)
        assert outcomes[0].launch.failure is not None
        assert "other timed inputs for canary" in outcomes[0].launch.failure.message
        assert outcomes[0].worker is None
    finally:
        end_workers(outcomes)


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
