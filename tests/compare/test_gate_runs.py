"""Limits are derived from runs of the same thing, and refused of anything else."""

import math
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.compare import baselines, gate_runs, sides
from levelfield.compare import gate as file
from levelfield.compare.comparison import compare_runs
from levelfield.compare.gate import NoiseGate, Without
from levelfield.compare.types import Comparison, Gate, Verdict
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Run
from levelfield.statistics import prediction
from tests.compare.gates import derive, keep, new, record, reports_of, unchanged
from tests.compare.runs import with_machine
from tests.known import known
from tests.report.plain import printed
from tests.run.reproductions import injected


def test_figures_follow_from_the_runs(tmp_path: Path) -> None:
    gate = derive(unchanged(tmp_path))
    assert sorted(case.arm.backend for case in gate.case) == ["jax", "onnxruntime"]
    assert [each.id for each in gate.evidence] == [f"old-{seed}" for seed in range(1, 6)]
    for case in gate.case:
        logs = np.log(case.costs)
        assert case.cost == pytest.approx(math.exp(logs.mean()))
        assert case.spread == pytest.approx(logs.std(ddof=1))
        assert math.log(case.worse_above) == pytest.approx(case.spread * prediction.factor(5, 1, 0.01 / 2))
        assert case.limit == pytest.approx(case.cost * case.worse_above)
        assert case.spread_low < case.spread < case.spread_high
        assert case.finds > case.worse_above
        assert case.freedom == 4


def at(records: list[str], times: list[str]) -> list[Run]:
    return [
        msgspec.structs.replace(record(name, 1 + number), started=time)
        for number, (name, time) in enumerate(zip(records, times, strict=True))
    ]


@pytest.mark.parametrize(
    ("times", "days"),
    [
        (["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"], "1 day"),
        (["2026-01-01T23:30:00Z", "2026-01-02T00:10:00Z", "2026-01-02T00:50:00Z"], "1 day"),
        (["2026-01-03T10:00:00Z", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"], "2 days"),
    ],
)
def test_runs_of_too_few_days_are_refused_unless_they_are_meant(times: list[str], days: str, tmp_path: Path) -> None:
    reports = reports_of(tmp_path, at(["a", "b", "c"], times))
    with pytest.raises(LevelfieldError, match=f"are of {days}, and limits for other days need 3") as found:
        derive(reports)
    assert "--same-day" in found.value.fix
    assert derive(reports, same_day=True).case


@pytest.mark.parametrize(("days", "least", "most"), [(1, 0.09, 0.14), (3, 0.012, 0.024), (5, 0.005, 0.011)])
def test_limits_of_few_days_err_as_often_as_is_said(days: int, least: float, most: float) -> None:
    """The figures of `LEAST_DAYS` and of docs/ci.md: twelve runs, days that scatter twice as much as a day's runs."""
    rng = np.random.default_rng(days)
    sets, runs = 40_000, 12
    day = 2 * rng.standard_normal((sets, days + 1))
    earlier = day[:, np.arange(runs) % days] + rng.standard_normal((sets, runs))
    new = day[:, -1] + rng.standard_normal(sets)
    limit = earlier.mean(axis=1) + prediction.factor(runs, 1, 0.01) * earlier.std(axis=1, ddof=1)
    assert least < (new > limit).mean() < most


def test_a_renamed_copy_is_no_run_of_a_gate(tmp_path: Path) -> None:
    copy = msgspec.structs.replace(record("old-1", 1), id="copy")
    reports = reports_of(tmp_path, [*(record(f"old-{seed}", seed) for seed in range(1, 4)), copy])
    with pytest.raises(LevelfieldError, match="The runs old-1 and copy hold the same measurements"):
        derive(reports)


def test_a_baseline_in_which_a_run_is_counted_twice_has_no_gate(tmp_path: Path) -> None:
    reports = unchanged(tmp_path)
    made = baselines.read("good", reports)
    runs = sides.load_all(baselines.records(made, reports))
    with pytest.raises(LevelfieldError, match="The run old-1 is named twice"):
        gate_runs.derive(made, [*runs, runs[0]], gate_runs.Demands())


def test_other_hardware_is_refused(tmp_path: Path) -> None:
    records = [record(f"old-{seed}", seed) for seed in (1, 2, 3)]
    records[1] = with_machine(records[1], cpu={"model": "Another CPU"})
    with pytest.raises(LevelfieldError, match=r"unlike hardware: cpu model \(.* and Another CPU\)"):
        derive(reports_of(tmp_path, records))


def test_a_difference_is_named_and_can_be_accepted(tmp_path: Path) -> None:
    records = [record(f"old-{seed}", seed) for seed in (1, 2, 3)]
    records[2] = with_machine(records[2], kernel={"release": "9.9.9"})
    reports = reports_of(tmp_path, records)
    with pytest.raises(LevelfieldError, match=r"differ, .*Kernel: release .*9\.9\.9") as found:
        derive(reports)
    assert "--accept" in found.value.fix
    assert "Kernel" in found.value.fix
    gate = derive(reports, accept=("Kernel: *",))
    assert len(gate.accepted) == 1
    assert "9.9.9" in gate.accepted[0]


def test_what_a_run_lacks_has_no_limit(tmp_path: Path) -> None:
    records = [record(f"old-{seed}", seed) for seed in (1, 2, 3)]
    records[0] = record("old-1", 1, backends=["onnxruntime"])
    gate = derive(reports_of(tmp_path, records), accept=("*",))
    assert [case.arm.id for case in gate.case] == ["onnxruntime"]
    assert [(each.id.partition("/")[0], each.reason) for each in gate.without] == [("jax", "measured in 2 of 3 runs")]


def test_a_case_of_runs_that_were_slowed_down_has_no_limit(tmp_path: Path) -> None:
    records = [
        msgspec.structs.replace(injected(record(f"old-{seed}", seed), "5%"), labels=("injected",)) for seed in (1, 2, 3)
    ]
    gate = derive(reports_of(tmp_path, records), accept=("*",))
    assert [(each.id.partition("/")[0], each.reason) for each in gate.without] == [
        ("jax", "its old runs were slowed down on purpose")
    ]


def test_a_gate_without_its_runs_knows_their_state_and_target(reports: Path) -> None:
    path = reports.parent / "gate.toml"
    gate = file.read(path)
    calm = [msgspec.structs.replace(case, windows_of=("calm",) * 5, latency_target=("400 ms",)) for case in gate.case]
    for each in reports.glob("old-*"):
        shutil.rmtree(each)
    runs = new(reports, 11)
    old, given, _ = gate_runs.with_gate(path, runs, reports, Gate())
    derived = msgspec.structs.replace(known(given.derived), without=("jax/mlp/latency/fp32/b1/t2/cpu",))
    fewer = [
        msgspec.structs.replace(run, answers={key: each for key, each in run.answers.items() if key[0] != "jax"})
        for run in old
    ]
    assert compare_runs(fewer, runs, gate=msgspec.structs.replace(given, derived=derived)).exit_code == 3
    path.write_bytes(file.content(msgspec.structs.replace(gate, case=tuple(calm))))
    for change, says in (
        ({"windows_of": "all"}, "the machine was calm in 5; then rarely calm in 1"),
        ({"windows_of": "calm", "latency_target": frozenset({"4 s"})}, "the latency target is not the same"),
    ):
        answers = {key: msgspec.structs.replace(each, **change) for key, each in runs[0].answers.items()}
        found = compared(reports, [msgspec.structs.replace(runs[0], answers=answers)])
        assert found.exit_code == 3
        assert all(row.reason.startswith(says) for row in found.rows)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    reports = unchanged(tmp_path)
    (tmp_path / "gate.toml").write_bytes(file.content(derive(reports)))
    return reports


def compared(reports: Path, runs: Any, **criteria: Any) -> Comparison:
    old, gate, label = gate_runs.with_gate(reports.parent / "gate.toml", runs, reports, Gate(**criteria))
    return compare_runs(old, runs, gate=gate, labels=(label, ""))


def verdicts(found: Comparison) -> dict[str, Verdict]:
    return {row.new_arm: row.verdict for row in found.rows}


def test_a_run_without_a_change_is_within_noise(reports: Path) -> None:
    found = compared(reports, new(reports, 11))
    assert found.exit_code == 0
    assert set(verdicts(found).values()) == {Verdict.WITHIN}
    assert found.answer.startswith("No case is above its limit: 2 within noise, where a slowdown below ")
    assert found.old.label == "gate of baseline good"
    assert any("began within 4 days" in note for note in found.notes)


def test_one_slower_run_is_worse_and_says_why(reports: Path) -> None:
    found = compared(reports, new(reports, 11, slower={"onnxruntime": 2.0}))
    assert found.exit_code == 1
    assert found.answer.startswith("Worse: onnxruntime on MLP")
    (row,) = (row for row in found.rows if row.outcome == "worse")
    assert row.verdict is Verdict.SLOWER
    assert known(row.new) > known(row.limit) > known(row.old)
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
    assert any("Of the gate's 5 runs, 1 is not at hand (old-1/run" in note for note in without.notes)


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
    for folder in ("old-1", "old-2"):
        with pytest.raises(LevelfieldError, match="is not the one that the gate holds"):
            compared(reports, new(reports, 11))
        (reports / folder).rename(reports.parent / folder)


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


def test_a_shorter_run_is_not_compared(reports: Path) -> None:
    """Fewer launches scatter more, so that the limits would not hold."""
    made = record("other", 11)
    made = msgspec.structs.replace(made, settings=msgspec.structs.replace(made.settings, generations=2))
    with pytest.raises(LevelfieldError, match=r"other settings than the gate's runs: generations \("):
        compared(reports, [sides.load(keep(made, reports))])


@pytest.mark.parametrize(
    ("changes", "says"),
    [({}, "other settings than the gate's runs"), ({"generations": "2"}, "are not those that the gate holds")],
)
def test_settings_that_were_taken_out_of_a_gate_or_changed_are_missed(
    reports: Path, changes: dict[str, str], says: str
) -> None:
    gate = derive(reports)
    settings = gate.settings | changes if changes else {}
    (reports.parent / "gate.toml").write_bytes(file.content(msgspec.structs.replace(gate, settings=settings)))
    made = record("other", 11)
    generations = int(changes.get("generations", made.settings.generations))
    made = msgspec.structs.replace(made, settings=msgspec.structs.replace(made.settings, generations=generations))
    with pytest.raises(LevelfieldError, match=says):
        compared(reports, [sides.load(keep(made, reports))])


def shown(gate: NoiseGate) -> str:
    return " ".join(printed(partial(gate_runs.show, gate)).split())


def test_text_of_records_is_only_text(tmp_path: Path) -> None:
    gate = derive(unchanged(tmp_path))
    hostile = msgspec.structs.replace(
        gate, without=(Without("[red]a\x1b[2J", "[b]why"),), accepted=("[blink]\x9bKernel",)
    )
    found = shown(hostile)
    assert "No limit for [red]a" in found
    assert "[b]why" in found
    assert "\x1b" not in found
    assert "\x9b" not in found
