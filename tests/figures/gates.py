"""Figures of gates from noise: what a rule finds, and the one that was derived and tried for real."""

import json
from datetime import datetime
from functools import cache
from typing import Any

from suite.compare.noise_gate import file, notes
from suite.compare.noise_gate.derive import Demands
from suite.compare.noise_gate.file import GateCase, NoiseGate
from suite.statistics.prediction import Earlier
from tests.figures.checking import Figure
from tests.figures.records import TRIALS

CI = "docs/ci.md"
GATE = "gate-2026-11-25"
RUNS, NEW, CASES = (3, 5, 10, 20), (1, 2, 3), (1, 40)


@cache
def published() -> NoiseGate:
    """Return the gate that was derived for real."""
    return file.read(TRIALS / f"{GATE}.toml")


def case_of(scenario: str) -> GateCase:
    """Return its case of a scenario."""
    (found,) = (case for case in published().case if case.metric == scenario)
    return found


def _tried(name: str) -> Any:
    return json.loads((TRIALS / f"{GATE}-{name}.json").read_text(encoding="utf-8"))


def _row(name: str, metric: str) -> Any:
    (found,) = (row for row in _tried(name)["rows"] if row["metric"] == metric)
    return found


def _finds() -> list[object]:
    """Return the head of the table and its rows: the smallest change found, in standard deviations."""
    demands = Demands()
    cells: list[object] = []
    for runs in RUNS:
        earlier = Earlier(mean=0.0, spread=1.0, runs=runs)
        sizes = [earlier.finds(new, demands.false_alarms / cases, demands.power) for cases in CASES for new in NEW]
        cells += [runs, *(f"{size:.1f}" if size < 10 else f"{size:.0f}" for size in sizes)]
    return [*NEW, CASES[1], *NEW, *cells]


def _later() -> list[object]:
    unchanged = _tried("unchanged")
    began = [run["started"] for run in unchanged["old"]["runs"]]
    since_s = notes.since_seconds(began, [run["started"] for run in unchanged["new"]["runs"]])
    assert since_s is not None
    assert _row("unchanged", "latency")["verdict"] == "within noise"
    slowed = _row("slowed", "latency")
    assert slowed["verdict"] == "slower"
    return [f"{since_s / 60:.0f}", *(f"{100 * (slowed['ratio'][name] - 1):.0f}" for name in ("value", "low", "high"))]


def _span() -> list[object]:
    began = [datetime.fromisoformat(each.started) for each in published().evidence]
    return [len(began), f"{(max(began) - min(began)).total_seconds():.0f}"]


def _cold() -> list[object]:
    case = case_of("cold-start")
    ratios = (_row(name, "cold-start")["ratio"]["value"] for name in ("unchanged", "slowed"))
    return [f"{100 * case.spread:.0f}", f"{case.finds:.0f}", *(f"{ratio:.1f}" for ratio in ratios)]


FIGURES = [
    Figure(
        CI,
        "| {} new run, one case | {} new, one case | {} new, one case | {} cases, {} new run | {} new | {} new | "
        "|---|---:|---:|---:|---:|---:|---:|" + " | {} | {} | {} | {} | {} | {} | {} |" * len(RUNS),
        _finds,
    ),
    Figure(CI, "From {} runs of ONNX Runtime on an MLP, made within {} s", _span),
    Figure(CI, "an unchanged run {} min later was within noise", lambda: _later()[:1]),
    Figure(CI, "called {} % slower ({}–{} %)", lambda: _later()[1:]),
    Figure(
        CI,
        "spread by {} %, so that the gate finds only a factor of {} in them, and says so: in the two later runs they "
        "took {} and {} times as long",
        _cold,
    ),
]
