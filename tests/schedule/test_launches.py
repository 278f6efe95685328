"""Bringing workers up: who cannot answer is absent with the reason, and never launched; what is drawn for each."""

import statistics
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.record.schema import Arm, Case
from levelfield.schedule.launches import TIMED_SETS, bring_up, padding_of, sets_of
from levelfield.worker import sources
from levelfield.zoo import inputs, models
from tests import canaries, hostile
from tests.schedule.windows import HONEST, launches_of, measured, turns_of


def test_who_does_not_compute_in_a_precision_is_not_launched() -> None:
    site = canaries.site(canaries.plan("latency"))
    outcomes = bring_up(site, Case("mlp", "latency", "int8", 1, 1), [Arm("jax", "jax"), Arm("torch", "torch")])
    assert not canaries.workers()
    for outcome, words in zip(outcomes, ("JAX has no static quantisation", "torchao"), strict=True):
        assert outcome.worker is None
        assert outcome.launch.failure is not None
        assert outcome.launch.failure.kind == "unsupported"
        assert words in outcome.launch.failure.message


def test_the_same_seed_draws_the_same_padding() -> None:
    lengths = [padding_of(arm, 7) for arm in (Arm("torch", "torch"), Arm("torch", "torch", ordinal=2))]
    assert lengths == [1260, 2485], "a seed in a record means the same lengths in later versions"


def test_paddings_are_uniform_over_a_page_and_independent_between_arms() -> None:
    arms = (Arm("torch", "torch"), Arm("torch", "torch", ordinal=2))
    drawn = np.array([[padding_of(arm, seed) for arm in arms] for seed in range(4096)])
    assert drawn.min() >= 0
    assert drawn.max() <= 4095
    counts = Counter((drawn // 256).ravel().tolist())
    assert len(counts) == 16
    assert all(abs(count - 512) < 5 * 512**0.5 for count in counts.values())
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4 / 4096**0.5


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
            assert launch.timed_inputs == TIMED_SETS
            assert launch.timed_inputs_sha256 == sources.rotation_digest(
                inputs.make(models.get("canary"), first, 1) for first in range(TIMED_SETS)
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
    assert sets_of(site, msgspec.convert(_case(model, scenario, batch), Case)) == sets


def _case(model: str, scenario: str, batch: int) -> dict[str, str | int]:
    return {"model": model, "scenario": scenario, "precision": "fp32", "batch": batch, "threads": 1}
