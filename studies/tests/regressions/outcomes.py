"""Outcomes that were never measured."""

from pathlib import Path

from levelfield.compare.ab import compare_arms
from levelfield.compare.types import Gate, Verdict
from levelfield.run.ab import AbResult
from studies.regressions.pairs import Class, Frozen, Pair
from studies.regressions.record import Outcome
from tests.compare.pairs import run

SHA256 = "0" * 64


def pair(name: str = "softplus-1.21") -> Pair:
    return Pair(
        name=name,
        backend="onnxruntime",
        old="1.20.0",
        new="1.21.0",
        workload="softplus",
        source="https://example.org/1",
        claim="slower",
        says="+25 %",
    )


def outcome(class_: Class, verdict: Verdict) -> Outcome:
    return Outcome(
        pair=pair(),
        frozen=Frozen(name="softplus-1.21", class_=class_, ratio=1.3, low=1.28, high=1.32, model_sha256=SHA256),
        run="20261124-000000-standard-0000",
        started="2026-11-24T00:00:00Z",
        seconds=30.0,
        verdict=verdict,
        reason="",
        launches=5,
        ratio=1.29,
        low=1.2,
        high=1.4,
        confidence=0.99,
    )


def result(factor: float) -> AbResult:
    """Return an `ab` whose new arm takes so many times as long."""
    record = run(factor, generations=10, models=("mlp",), scenarios=("latency", "throughput"))
    return AbResult(Path("run"), Path("run/run.json"), record, compare_arms(record, Gate(), "0" * 64))
