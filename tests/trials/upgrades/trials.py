"""Trials of upgrades, made of an `ab` whose ratio is known."""

from suite.compare.ab.comparison import compare_arms
from suite.compare.types import Comparison, Gate
from suite.trials.upgrades.record import Kind, Trial, trial_of
from tests.compare.ab.pairs import run


def comparison(factor: float) -> Comparison:
    record = run(factor, generations=10, models=("mlp",), scenarios=("latency", "throughput"))
    return compare_arms(record, Gate(), "0" * 64)


def trial(kind: Kind, factor: float) -> Trial:
    return trial_of(kind, "5%" if kind == "injected" else "", comparison(factor), 30.0)
