"""Which cases of an `ab` are explained, and what is said of the others."""

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from levelfield.compare.ab import compare_arms
from levelfield.compare.types import Gate
from levelfield.record import files
from levelfield.record.schema import Arm, Run
from levelfield.run import why
from levelfield.run.ab import AbResult
from levelfield.run.explain.difference import Change, Difference
from levelfield.run.options import Options
from tests.compare.pairs import A, B, run


def result(made: Run, folder: Path) -> AbResult:
    record = files.write(made, folder)
    return AbResult(folder, record, made, compare_arms(made, Gate(), hashlib.sha256(record.read_bytes()).hexdigest()))


def pair(factor: float, **options: Any) -> Run:
    known: dict[str, Any] = {"models": ("mlp", "resnet50"), "scenarios": ("latency", "memory"), "generations": 8}
    return run(factor, **known | options)


def test_cases_that_differ_are_explained_and_memory_is_not(tmp_path: Path) -> None:
    rows, nothing = why.explainable(result(pair(1.3), tmp_path))
    assert not nothing
    assert {row.case.scenario for row in rows} == {"latency"}
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (pair(1.0, spread=0.05), "No case differs in time"),
        (pair(1.3, second=Arm("openvino", "openvino")), "onnxruntime and openvino have no names in common"),
        (pair(1.3, second=Arm("onnxruntime", "onnxruntime", ordinal=2, inject="30%")), "slowed down on purpose"),
        (pair(1.3, scenarios=("cold-start",)), "no such case differs"),
    ],
    ids=["same", "other framework", "injected", "cold start"],
)
def test_what_cannot_be_explained_is_one_sentence_and_launches_nothing(made: Run, reason: str, tmp_path: Path) -> None:
    said = io.StringIO()
    assert why.explain(result(made, tmp_path), Options(), Console(file=said, width=200)) == []
    assert reason in said.getvalue()
    assert not (tmp_path / why.NAME).exists()


def test_what_differs_is_named_and_hostile_names_are_only_text(tmp_path: Path) -> None:
    moved = Change("Gelu[red]\x1b[2J", 10.0, 13.0, 3.0, 2.0, 4.0, differs=True)
    still = Change("MatMul", 50.0, 50.1, 0.1, -0.3, 0.5, differs=False)
    call = Change("the whole call", 60.0, 64.0, 4.0, 3.0, 5.0, differs=True)
    found = Difference("bert/latency", A.id, B.id, 8, call, (moved, still), 1.2, "a profiler")
    said = io.StringIO()
    why.show([found], result(pair(1.3), tmp_path), Console(file=said, width=200))
    text = said.getvalue()
    assert "What differs: Gelu[red]" in text
    assert "\x1b" not in text
    assert "+3 (+2 to +4)" in text
    assert "account for 78% of the call's difference" in text
    assert why.NAME in text
    nothing = Difference("bert/latency", A.id, B.id, 8, call, (still,), 1.2, "a profiler")
    assert why.sentence(nothing).startswith("No kind of operator was shown to differ.")
