"""Trials of upgrades, made of an `ab` whose ratio is known."""

from pathlib import Path

from studies.upgrades.record import Kind, Trial, trial_of
from suite.compare.ab.comparison import compare_arms
from suite.compare.types import Gate
from suite.run.ab import AbResult
from tests.compare.ab.pairs import run


def result(factor: float) -> AbResult:
    record = run(factor, generations=10, models=("mlp",), scenarios=("latency", "throughput"))
    return AbResult(Path("run"), Path("run/run.json"), record, compare_arms(record, Gate(), "0" * 64))


def trial(kind: Kind, factor: float) -> Trial:
    return trial_of(kind, "5%" if kind == "injected" else "", result(factor).comparison, 30.0)
