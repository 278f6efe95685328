"""Verdicts on two arms of one run, on records whose truth is known."""

from typing import Any

import msgspec
import pytest

from levelfield.compare.ab import arms, compare_arms, undecided
from levelfield.compare.types import Comparison, Gate, Row, Verdict
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Run
from tests.compare.pairs import A, B, run
from tests.known import known
from tests.records_builder import make_run

LATENCY: dict[str, Any] = {"models": ("resnet50",), "scenarios": ("latency",)}


def judged(record: Run, **gate: Any) -> Comparison:
    return compare_arms(record, Gate(**gate), "0" * 64)


def test_what_differs_between_the_images_comes_first() -> None:
    found = judged(run(1.0, **LATENCY))
    changed = [(group, change) for group in found.changes for change in group.changed]
    versions = [(change.old, change.new) for _, change in changed if change.name == "onnxruntime"]
    assert versions == [("1.30.0", "1.31.1")]
    assert all("onnxruntime" in group.title for group, _ in changed), "the machine is one and the same"
    assert "onnxruntime 1.30.0 → 1.31.1" in found.notes[0]


@pytest.mark.parametrize("record", [make_run(backends=("jax",)), make_run(backends=("jax", "torch", "openvino"))])
def test_a_run_that_is_no_pair_is_refused(record: Run) -> None:
    with pytest.raises(LevelfieldError, match="does not compare two arms"):
        arms(record)


def ends(record: Run) -> Run:
    return msgspec.structs.replace(record, settings=msgspec.structs.replace(record.settings, ends_on_verdict=True))


def test_a_case_without_a_verdict_is_undecided_with_its_interval() -> None:
    noisy = ends(run(1.01, spread=3.0, generations=4, **LATENCY))
    (case, known), *none = undecided(noisy, Gate()).items()
    assert not none
    assert case == noisy.blocks[0].case.id
    assert "–" in known
    assert undecided(ends(run(1.0, spread=3.0, generations=1, **LATENCY)), Gate())[case].startswith("1 launch")


@pytest.mark.parametrize(("factor", "verdict"), [(1.3, Verdict.SLOWER), (1.0, Verdict.SAME)])
def test_a_case_with_a_verdict_is_decided_and_a_failed_one_is_not_waited_for(factor: float, verdict: Verdict) -> None:
    quiet = ends(run(factor, spread=0.05, generations=6, **LATENCY))
    assert judged(quiet).rows[0].verdict is verdict
    assert undecided(quiet, Gate()) == {}
    assert undecided(ends(run(1.0, failing=(B.id,), generations=4, **LATENCY)), Gate()) == {}


def test_looks_cost_confidence_and_only_where_verdicts_end_a_case() -> None:
    plain = run(1.3, generations=6, models=("resnet50",), scenarios=("latency", "memory"))
    fixed, looked = judged(plain), judged(ends(plain))

    def width(found: Comparison, metric: str) -> float:
        (row,) = [row for row in found.rows if row.metric == metric]
        assert row.ratio is not None
        return known(row.ratio.high) - known(row.ratio.low)

    assert width(looked, "latency") > 1.2 * width(fixed, "latency")
    assert width(looked, "memory") == width(fixed, "memory")
    assert "a look after every generation" in looked.method
    assert "a look after" not in fixed.method


def only(record: Run, **gate: Any) -> Row:
    (row,) = judged(record, **gate).rows
    return row


@pytest.mark.parametrize(
    ("factor", "verdict", "outcome", "code"),
    [
        (1.1, Verdict.SLOWER, "worse", 1),
        (0.9, Verdict.FASTER, "fine", 0),
        (1.0, Verdict.SAME, "fine", 0),
        (1.005, Verdict.SAME, "fine", 0),
    ],
)
def test_a_known_change_gets_its_verdict(factor: float, verdict: Verdict, outcome: str, code: int) -> None:
    found = judged(run(factor, generations=12, **LATENCY))
    (row,) = found.rows
    assert (row.verdict, row.outcome, found.exit_code) == (verdict, outcome, code)
    assert row.ratio is not None
    assert known(row.ratio.low) < factor < known(row.ratio.high)
    assert (row.old_arm, row.new_arm) == (A.id, B.id)
    assert found.answer.startswith("onnxruntime ")
    assert found.replicate == "launch"
    assert row.further is None


@pytest.mark.parametrize(
    ("scenario", "verdict"),
    [
        ("latency", Verdict.SLOWER),
        ("throughput", Verdict.SLOWER),
        ("cold-start", Verdict.SLOWER),
        ("memory", Verdict.MORE_MEMORY),
    ],
)
def test_every_scenario_is_judged_by_its_own_cost(scenario: str, verdict: Verdict) -> None:
    row = only(run(1.3, models=("mlp",), scenarios=(scenario,), generations=8))
    assert row.verdict is verdict
    assert row.metric == scenario
    assert known(row.ratio).value == pytest.approx(1.3, rel=0.02)


def test_what_noise_hides_is_not_decided_and_says_what_would_decide_it() -> None:
    found = judged(run(1.01, spread=3.0, generations=5, **LATENCY))
    (row,) = found.rows
    assert (row.verdict, row.outcome) == (Verdict.UNDECIDED, "undecided")
    assert found.exit_code == 3
    assert known(row.further) > 0
    assert known(row.further_seconds) > 0
    assert "could not be decided" in found.answer


def test_too_few_launches_are_not_decided() -> None:
    row = only(run(1.5, generations=4, **LATENCY))
    assert (row.verdict, row.outcome) == (Verdict.UNDECIDABLE, "undecided")
    assert known(row.ratio).low is None
    assert row.further == 1
    assert row.reason.startswith("4 launches of both arms")


@pytest.mark.parametrize(
    ("failing", "verdict", "outcome", "code"),
    [
        ((B.id,), Verdict.FAILED, "worse", 1),
        ((A.id,), Verdict.RECOVERED, "aside", 3),
        ((A.id, B.id), Verdict.FAILED, "undecided", 3),
    ],
)
def test_a_failure_is_never_read_as_a_speed(
    failing: tuple[str, ...], verdict: Verdict, outcome: str, code: int
) -> None:
    found = judged(run(1.0, failing=failing, **LATENCY))
    (row,) = found.rows
    assert (row.verdict, row.outcome, found.exit_code) == (verdict, outcome, code)
    assert row.ratio is None
    assert "would not load" in row.reason


def test_an_answer_that_is_not_equal_is_not_judged_by_its_speed() -> None:
    record = run(0.5, unequal=[("onnxruntime", "resnet50")], **LATENCY)
    assert only(record).verdict is Verdict.UNEQUAL
    assert judged(record).exit_code != 0


def test_an_upgrade_that_mends_an_answer_is_not_worse_and_has_no_ratio() -> None:
    record = run(0.5, generations=8, wrong=(A.id,), **LATENCY)
    found = judged(record)
    (row,) = found.rows
    assert (row.verdict, row.outcome, found.exit_code) == (Verdict.MENDED, "fine", 0)
    assert (row.old, row.new, row.ratio) == (None, None, None)
    assert found.answer == (
        "onnxruntime is equal to the reference in the only case, where the answer of onnxruntime@1.30.0 was wrong."
    )
    assert undecided(ends(record), Gate()) == {}


def test_an_old_side_that_failed_is_said_in_a_sentence() -> None:
    assert judged(run(1.0, failing=(A.id,), **LATENCY)).answer == (
        "onnxruntime answers in the only case, where onnxruntime@1.30.0 failed."
    )


@pytest.mark.parametrize(("limit", "outcome", "code"), [(0.03, "worse", 1), (0.05, "undecided", 3), (0.2, "fine", 0)])
def test_the_gate_asks_its_own_question(limit: float, outcome: str, code: int) -> None:
    found = judged(run(1.05, generations=12, **LATENCY), max_slowdown=limit)
    assert (found.rows[0].outcome, found.exit_code) == (outcome, code)


def test_the_gate_is_answered_in_its_own_words() -> None:
    noisy = run(1.01, spread=1.0, generations=8, **LATENCY)
    inside, open_ = judged(noisy, max_slowdown=0.9), judged(noisy, max_slowdown=0.001)
    assert (only(noisy).verdict, inside.exit_code, open_.exit_code) == (Verdict.UNDECIDED, 0, 3)
    assert inside.answer.startswith("onnxruntime is not slower than onnxruntime@1.30.0 by more than 90\u00a0% in the")
    assert open_.answer.startswith(
        "Whether onnxruntime is slower than onnxruntime@1.30.0 by more than 0.1\u00a0% could"
    )


def test_identical_arms_raise_few_alarms_over_many_cases() -> None:
    """A third of the cases would be called at 95 % without correction, sooner or later; here, 1 % of the runs."""
    alarms = 0
    for seed in range(40):
        found = judged(run(1.0, seed=seed, spread=1.0, generations=5, rounds=3, max_calls=5, models=("mlp",)))
        alarms += any(row.verdict not in {Verdict.SAME, Verdict.UNDECIDED} for row in found.rows)
    assert alarms <= 3  # Binomial(40, 0.01): more has probability 0.1 %
