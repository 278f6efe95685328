"""Reports with a baseline of unchanged runs, and gates derived from them."""

from pathlib import Path
from typing import Any

import msgspec

from levelfield.analysis.summary import Reduced
from levelfield.compare import baselines, sides
from levelfield.compare import gate_runs as derivation
from levelfield.compare.gate import NoiseGate
from levelfield.record.schema import Run
from tests.compare.runs import run
from tests.records_builder import kept

BASELINE = "good"


def record(name: str, seed: int, **options: Any) -> Run:
    """A run of two backends on one model that began on a day of its own."""
    return msgspec.structs.replace(run(name, seed, **options), started=f"2026-01-{seed:02}T10:00:00Z")


def keep(made: Run, reports: Path) -> Path:
    return kept(made, reports / made.id)


def reports_of(folder: Path, records: list[Run]) -> Path:
    """Write runs, and set a baseline to them."""
    reports = folder / "reports"
    baselines.define(BASELINE, [keep(made, reports) for made in records], reports)
    return reports


def unchanged(folder: Path, count: int = 5, **options: Any) -> Path:
    return reports_of(folder, [record(f"old-{seed}", seed, **options) for seed in range(1, count + 1)])


def derive(reports: Path, **demands: Any) -> NoiseGate:
    baseline = baselines.read(BASELINE, reports)
    runs = sides.load_all(baselines.records(baseline, reports))
    return derivation.derive(baseline, runs, derivation.Demands(**demands))


def new(reports: Path, *numbers: int, **options: Any) -> list[Reduced]:
    """Write later runs, one a number, and load them."""
    return [sides.load(keep(record(f"new-{number}", number, **options), reports)) for number in numbers]
