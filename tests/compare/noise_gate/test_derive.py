"""Limits are derived from runs of the same thing, and refused of anything else."""

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.schema import Run
from levelfield.statistics import prediction
from tests.compare.noise_gate.gates import derive, record, reports_of, unchanged
from tests.compare.runs import with_launches, with_machine, without_arm
from tests.records_builder import make_run


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


def test_wishes(tmp_path: Path) -> None:
    reports = unchanged(tmp_path)
    plain, rare, two = derive(reports), derive(reports, false_alarms=0.001), derive(reports, runs_each=2)
    certain = derive(reports, power=0.99)
    assert rare.case[0].worse_above > plain.case[0].worse_above > two.case[0].worse_above
    assert certain.case[0].finds > plain.case[0].finds
    assert certain.case[0].worse_above == plain.case[0].worse_above


def test_two_runs_are_too_few(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="has 2 runs; noise is estimated from 3") as found:
        derive(unchanged(tmp_path, 2))
    assert "3 times" in found.value.fix


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


def test_smoke_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="smoke runs"):
        derive(reports_of(tmp_path, [msgspec.structs.replace(record(name, 1), labels=("smoke",)) for name in "abc"]))


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
    records[0] = without_arm(records[0], "jax")
    gate = derive(reports_of(tmp_path, records), accept=("*",))
    assert [case.arm.id for case in gate.case] == ["onnxruntime"]
    assert [(each.id.partition("/")[0], each.reason) for each in gate.without] == [("jax", "measured in 2 of 3 runs")]


def test_figures_that_are_all_the_same_say_nothing_about_noise(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="all runs gave the same figure"):
        derive(
            reports_of(tmp_path, [msgspec.structs.replace(record("a", 1), id=name) for name in "abc"]), same_day=True
        )


def test_other_inputs_are_another_question(tmp_path: Path) -> None:
    records = [record(f"old-{seed}", seed) for seed in (1, 2, 3)]
    records[0] = with_launches(records[0], lambda launch: msgspec.structs.replace(launch, inputs_sha256="f" * 64))
    with pytest.raises(LevelfieldError, match="not the same question in all runs"):
        derive(reports_of(tmp_path, records), accept=("*",))


def test_many_cases_share_the_rate(tmp_path: Path) -> None:
    made = [
        msgspec.structs.replace(make_run(seed=seed, generations=5, rounds=2, max_calls=5), id=f"r{seed}")
        for seed in (1, 2, 3, 4)
    ]
    gate = derive(reports_of(tmp_path, made), same_day=True)
    assert len(gate.case) > 10
    assert gate.level == pytest.approx(0.01 / len(gate.case))
