"""The old side of a gate: its evidence where that is at hand and unchanged, else what the file holds."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.compare import sides
from levelfield.compare.comparison import compare_runs
from levelfield.compare.noise_gate import file, old_side
from levelfield.compare.types import Comparison, Gate, Verdict
from levelfield.errors import LevelfieldError
from tests.compare.noise_gate.gates import derive, keep, new, record, unchanged
from tests.compare.runs import with_launches, with_machine


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    reports = unchanged(tmp_path)
    (tmp_path / "gate.toml").write_bytes(file.content(derive(reports)))
    return reports


def compared(reports: Path, runs: Any, **criteria: Any) -> Comparison:
    old, gate, label = old_side.with_gate(reports.parent / "gate.toml", runs, reports, Gate(**criteria))
    return compare_runs(old, runs, gate=gate, labels=(label, ""))


def verdicts(found: Comparison) -> dict[str, Verdict]:
    return {row.new_arm: row.verdict for row in found.rows}


def test_a_run_without_a_change_is_within_noise(reports: Path) -> None:
    found = compared(reports, new(reports, 11))
    assert found.exit_code == 0
    assert set(verdicts(found).values()) == {Verdict.WITHIN}
    assert found.answer.startswith("No case is above its limit: 2 within noise.")
    assert found.old.label == "gate of baseline good"
    assert any("began within 4 days" in note for note in found.notes)


def test_one_slower_run_is_worse_and_says_why(reports: Path) -> None:
    found = compared(reports, new(reports, 11, slower={"onnxruntime": 2.0}))
    assert found.exit_code == 1
    assert found.answer.startswith("Worse: onnxruntime on MLP")
    (row,) = (row for row in found.rows if row.outcome == "worse")
    assert row.verdict is Verdict.SLOWER
    assert row.limit is not None
    assert row.old is not None
    assert row.new is not None
    assert row.new > row.limit > row.old
    assert row.reason.startswith("limit ")
    assert "5 runs of baseline good spread by" in row.reason


def test_without_its_evidence_a_gate_says_the_same_of_costs(reports: Path) -> None:
    runs = new(reports, 11, slower={"onnxruntime": 2.0})
    with_evidence = compared(reports, runs)
    (reports / "old-1").rename(reports.parent / "elsewhere")
    without = compared(reports, runs)
    for first, second in zip(with_evidence.rows, without.rows, strict=True):
        assert msgspec.structs.replace(first, ratio=None) == msgspec.structs.replace(second, ratio=None)
        assert first.ratio == second.ratio
    assert (without.exit_code, without.drifts, without.changes) == (1, (), ())
    assert any("not at hand" in note for note in without.notes)


def test_evidence_that_was_changed_is_refused(reports: Path) -> None:
    content = (reports / "old-2" / "run.json").read_bytes()
    (reports / "old-2" / "run.json").write_bytes(content.replace(b'"seed":2,', b'"seed":3,', 1))
    with pytest.raises(LevelfieldError, match="was changed since"):
        compared(reports, new(reports, 11))


def test_costs_that_were_edited_together_with_all_figures_are_found_by_the_evidence(reports: Path) -> None:
    gate = derive(reports)
    costs = tuple(2 * cost for cost in gate.case[0].costs)
    figures = file.figures(costs, gate.runs_each, gate.level, gate.power)
    forged = msgspec.structs.replace(gate.case[0], costs=costs, **figures)
    gate = msgspec.structs.replace(gate, case=(forged, *gate.case[1:]))
    (reports.parent / "gate.toml").write_bytes(file.content(gate))
    with pytest.raises(LevelfieldError, match="is not the one that the gate holds"):
        compared(reports, new(reports, 11))


@pytest.mark.parametrize("pointer", ["/etc/passwd", "../../secret", "a/../../b"])
def test_a_stranger_s_gate_leads_nowhere_else(reports: Path, pointer: str) -> None:
    gate = derive(reports)
    evidence = (msgspec.structs.replace(gate.evidence[0], file=pointer), *gate.evidence[1:])
    (reports.parent / "gate.toml").write_bytes(file.content(msgspec.structs.replace(gate, evidence=evidence)))
    with pytest.raises(LevelfieldError, match="names a file outside of"):
        compared(reports, new(reports, 11))


def test_other_hardware_is_not_compared(reports: Path) -> None:
    other = with_machine(record("other", 11), cpu={"model": "Another CPU"})
    runs = [sides.load(keep(other, reports))]
    with pytest.raises(LevelfieldError, match=r"other hardware than the gate's runs: cpu model \(.* and Another CPU\)"):
        compared(reports, runs)


def test_hardware_that_is_not_known_is_not_compared(reports: Path) -> None:
    made = record("other", 11)
    made = msgspec.structs.replace(made, machine={name: facts for name, facts in made.machine.items() if name != "cpu"})
    with pytest.raises(LevelfieldError, match="hardware that is not known"):
        compared(reports, [sides.load(keep(made, reports))])


def test_a_shorter_run_is_not_compared(reports: Path) -> None:
    """Fewer launches scatter more, so that the limits would not hold."""
    made = record("other", 11)
    made = msgspec.structs.replace(made, settings=msgspec.structs.replace(made.settings, generations=2))
    with pytest.raises(LevelfieldError, match=r"other settings than the gate's runs: generations \("):
        compared(reports, [sides.load(keep(made, reports))])


def test_a_run_of_the_evidence_is_not_new(reports: Path) -> None:
    with pytest.raises(LevelfieldError, match="named on both sides"):
        compared(reports, [sides.load(reports / "old-1" / "run.json")])


def test_other_inputs_are_not_comparable_even_without_evidence(reports: Path) -> None:
    made = with_launches(record("x", 11), lambda launch: msgspec.structs.replace(launch, inputs_sha256="f" * 64))
    (reports / "old-1").rename(reports.parent / "elsewhere")
    found = compared(reports, [sides.load(keep(made, reports))])
    assert set(verdicts(found).values()) == {Verdict.INCOMPARABLE}
    assert found.exit_code == 3


def test_what_was_asked_and_cannot_be_found_is_not_decided(reports: Path) -> None:
    runs = new(reports, 11)
    fine = compared(reports, runs)
    finds = max(row.finds or math.inf for row in fine.rows)
    undecided = compared(reports, runs, max_slowdown=1e-4)
    assert undecided.exit_code == 3
    assert all("was asked, and it finds" in row.reason for row in undecided.rows if row.outcome == "undecided")
    assert compared(reports, runs, max_slowdown=min(2 * (finds - 1), 0.99)).exit_code == 0
