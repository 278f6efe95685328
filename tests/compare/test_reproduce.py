"""Verdicts of a reproduction: from records whose truth is known."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.analysis.summary import Answer, reduce
from levelfield.analysis.types import WindowsOf
from levelfield.compare.effects import Effect
from levelfield.compare.policy import judge, reproduction_policy
from levelfield.compare.reproduce import effect_of, judge_reproduction
from levelfield.compare.types import Comparison, Verdict
from levelfield.record.schema import Accuracy, DataSet, Failure, Run
from tests.compare.runs import losing_a_launch, with_machine, with_parity
from tests.known import known
from tests.run.reproductions import asks, record


def held(theirs: Run, ours: Run, **options: Any) -> Comparison:
    return judge_reproduction(reduce(theirs, ""), reduce(ours, ""), **options)


def verdicts(found: Comparison) -> dict[str, Verdict]:
    return {result.id: result.verdict for result in found.rows}


LATENCY = "onnxruntime/mlp/latency/fp32/b1/t2/cpu"


def test_the_same_again_is_reproduced() -> None:
    found = held(record("theirs", 1), record("ours", 2), allowed=0.25)
    assert set(verdicts(found).values()) == {Verdict.REPRODUCED}
    assert (len(found.rows), found.exit_code) == (3 * 4, 0)
    assert found.answer == "Reproduced: all 12 results, and every answer."
    assert found.notes[0] == "All 6 answers are identical, bit by bit."


def test_other_states_are_not_compared_and_what_has_no_number_is_named() -> None:
    theirs, ours = reduce(record("theirs", 1), ""), reduce(record("ours", 2), "")
    ours = msgspec.structs.replace(ours, answers={key: calm(each, "calm") for key, each in ours.answers.items()})
    answers = {key: calm(each, "all") for key, each in theirs.answers.items()}
    first = next(iter(answers))
    answers[first] = msgspec.structs.replace(answers[first], standing="failed", cost=None)
    found = judge_reproduction(msgspec.structs.replace(theirs, answers=answers), ours, allowed=0.25)
    assert {row.reason for row in found.rows} == {"the machine was rarely calm in 1; then calm in 1"}
    assert found.exit_code == 3
    assert f"1 result of the report without a number cannot be compared, such as {'/'.join(first)}." in found.notes


def calm(answer: Answer, windows_of: WindowsOf) -> Answer:
    return msgspec.structs.replace(answer, windows_of=windows_of)


def test_a_machine_that_was_disturbed_is_named_before_what_differs() -> None:
    reduced = reduce(record("ours", 2), "")
    ours = msgspec.structs.replace(reduced, disturbed=reduced.rounds)
    found = judge_reproduction(reduce(record("theirs", 1), ""), ours)
    every = f"{reduced.rounds} of {reduced.rounds} rounds"
    assert found.notes[0].startswith(f"{every} were disturbed from outside here, and 0 of {reduced.rounds} in the")


def test_a_difference_of_15_percent_is_rarely_reproduced() -> None:
    """Launches that scatter by a tenth, truth × 1.15, 10 % allowed: the point estimate alone once passed a quarter."""
    said = []
    for seed in range(8):
        theirs = record("theirs", 2 * seed + 1, scenarios=["latency"], noise_scale=11.0)
        slower = dict.fromkeys(("jax", "onnxruntime", "openvino"), 1.15)
        ours = record("ours", 2 * seed + 2, scenarios=["latency"], noise_scale=11.0, slower=slower)
        said += list(verdicts(held(theirs, ours)).values())
    assert len(said) == 24
    assert said.count(Verdict.REPRODUCED) <= 1


EXPERIMENTS = 4000
POLICY = reproduction_policy(0.1)


def decide(effect: Effect) -> Verdict:
    """Return the verdict alone, without the search for how many launches would decide."""
    (found,) = judge([effect], msgspec.structs.replace(POLICY, most_replicates=0))
    return found.verdict


def shares(truth: float, sd: float, launches: tuple[int, int], *, seed: int = 1) -> dict[Verdict, float]:
    """Simulate reproductions with an allowance of 10 %; launches scatter by `sd` on the log scale."""
    rng = np.random.default_rng(seed)
    said = []
    for _ in range(EXPERIMENTS):
        theirs = np.exp(rng.normal(0.0, sd, launches[0]))
        ours = np.exp(rng.normal(math.log(truth), sd, launches[1]))
        said.append(decide(known(effect_of(list(theirs), list(ours)))))
    return {verdict: said.count(verdict) / EXPERIMENTS for verdict in Verdict}


TAIL = POLICY.level / 2
ERROR = 3 * math.sqrt(TAIL * (1 - TAIL) / EXPERIMENTS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("launches", [(5, 5), (10, 10), (5, 20), (1, 5), (1, 3)])
@pytest.mark.parametrize("sd", [0.005, 0.02, 0.05, 0.1])
def test_at_the_edge_of_the_allowance_neither_verdict_is_said_too_often(launches: tuple[int, int], sd: float) -> None:
    for truth in (1.1, 1 / 1.1):
        found = shares(truth, sd, launches)
        assert found[Verdict.REPRODUCED] <= TAIL + ERROR
        assert found[Verdict.DIFFERS] <= TAIL + ERROR


@pytest.mark.parametrize(
    ("launches", "sd", "power"),
    [(5, 0.03, 0.97), (5, 0.05, 0.48), (5, 0.08, 0.05), (10, 0.03, 0.99), (10, 0.05, 0.96), (10, 0.08, 0.42)],
)
def test_power_where_the_truth_is_equal(launches: int, sd: float, power: float) -> None:
    """The figures of the module's docstring and of docs/method.md."""
    found = shares(1.0, sd, (launches, launches))
    assert found[Verdict.REPRODUCED] == pytest.approx(power, abs=0.025)
    assert found[Verdict.DIFFERS] <= 0.001


def test_what_would_decide_does() -> None:
    """With the launches that are asked for, and the same spread, it is decided; with one fewer it is not."""
    spread = 0.06 * np.array([-1.26, -0.63, 0.0, 0.63, 1.26])
    effect = known(effect_of(list(np.exp(0.01 * spread / 0.06)), list(np.exp(spread + 0.04))))
    assert decide(effect) is Verdict.UNDECIDED
    (found,) = judge([effect], POLICY)
    needed = effect.new_replicates + known(found.further)
    assert decide(effect.with_replicates(effect.old_replicates, needed)) is Verdict.REPRODUCED
    assert decide(effect.with_replicates(effect.old_replicates, needed - 1)) is Verdict.UNDECIDED


def test_several_launches_here_decide_about_a_report_of_one() -> None:
    options: dict[str, Any] = {"scenarios": ["memory", "cold-start"], "noise_scale": 0.3}
    found = held(record("theirs", generations=1, **options), record("ours", 2, generations=5, **options))
    assert set(verdicts(found).values()) == {Verdict.REPRODUCED}
    assert found.method.endswith(
        "Where a side has fewer than 3 launches, both are taken to scatter as the other side's do."
    )
    assert "scatter" not in held(record("theirs", generations=5, **options), record("ours", 2, **options)).method


def test_what_became_slower_differs_and_by_how_much() -> None:
    found = held(record("theirs"), record("ours", 2, slower={"onnxruntime": 1.5}))
    assert verdicts(found)[LATENCY] is Verdict.DIFFERS
    assert found.exit_code == 1
    (result,) = [each for each in found.rows if each.id == LATENCY]
    assert result.ratio is not None
    assert result.ratio.value == pytest.approx(1.5, rel=0.1)
    assert known(result.ratio.low) > 1.1
    assert "furthest: onnxruntime/" in found.notes[1]


def test_numerics_come_before_speed() -> None:
    ours = with_parity(
        record("ours", 2),
        "onnxruntime",
        lambda parity: msgspec.structs.replace(parity, equal=False, reason="too far away", output_sha256="0" * 64),
    )
    found = held(record("theirs"), ours)
    said = verdicts(found)
    assert said[LATENCY] is Verdict.UNEQUAL
    assert said[LATENCY.replace("onnxruntime", "jax")] is not Verdict.UNEQUAL
    assert found.exit_code == 1
    assert "became unequal" in found.notes[0]


def test_an_answer_that_moved_beyond_rounding_is_found_though_it_is_equal() -> None:
    ours = with_parity(
        record("ours"),
        "jax",
        lambda parity: msgspec.structs.replace(
            parity, output_sha256="0" * 64, projection=tuple(1.001 * value for value in parity.projection)
        ),
    )
    found = held(record("theirs"), ours)
    assert verdicts(found)[LATENCY.replace("onnxruntime", "jax")] is Verdict.MOVED
    assert found.exit_code == 1
    elsewhere = held(record("theirs"), with_machine(ours, cpu={"model": "Another Processor"}))
    assert (elsewhere.exit_code, set(verdicts(elsewhere).values())) == (3, {Verdict.INCOMPARABLE})


def test_other_hardware_is_never_slower() -> None:
    ours = with_machine(record("ours", 2, slower={"jax": 3.0}), cpu={"model": "Another Processor"})
    found = held(record("theirs"), ours)
    assert set(verdicts(found).values()) == {Verdict.INCOMPARABLE}
    assert found.exit_code == 3
    assert found.answer.startswith("Other hardware: the answers can be compared")
    assert any(change.name == "model" for group in found.changes for change in group.changed)


def test_on_other_hardware_the_order_of_arms_is_compared() -> None:
    elsewhere = {"model": "Another Processor"}
    found = held(record("theirs"), with_machine(record("ours", 2), cpu=elsewhere))
    assert found.notes[1] == (
        "The order is the report's in 12 pairs of arms: all that both runs tell apart. No time could be compared."
    )
    other = with_machine(record("ours", 2, slower={"onnxruntime": 9.0, "openvino": 9.0}), cpu=elsewhere)
    assert (
        "in 4 of 12 pairs of arms that both runs tell apart: onnxruntime and jax "
        in held(record("theirs"), other).notes[1]
    )
    short = with_machine(record("ours", 2, generations=1), cpu=elsewhere)
    assert held(record("theirs", generations=1), short).notes[1].startswith("No time could be compared, and no")


def test_what_fails_here_is_named() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    found = held(record("theirs"), record("ours", 2, failures={("openvino", "mlp"): crash}))
    assert verdicts(found)[LATENCY.replace("onnxruntime", "openvino")] is Verdict.FAILED
    assert found.exit_code == 1


def test_what_failed_there_at_times_is_compared_all_the_same() -> None:
    crash = Failure(stage="measure", kind="crashed", message="It ended with signal 9.")
    found = held(losing_a_launch(record("theirs"), crash), record("ours", 2, slower={"onnxruntime": 3.0}))
    assert verdicts(found)[LATENCY] is Verdict.DIFFERS


def test_what_was_not_asked_is_missing_and_not_reproduced() -> None:
    found = held(record("theirs"), record("ours", 2, backends=["jax", "onnxruntime"]), allowed=0.25)
    assert verdicts(found)[LATENCY.replace("onnxruntime", "openvino")] is Verdict.MISSING
    assert found.exit_code == 3


def of_another_question(run: Run, *, answers: bool = False, **digests: str) -> Run:
    """Let all arms have read something else, and answered otherwise where `answers` says so."""
    plain: Any = msgspec.to_builtins(run)
    for launch in (launch for block in plain["blocks"] for each in block["generations"] for launch in each["launches"]):
        launch.update(digests if launch["inputs_sha256"] else {})
        if answers and launch["parity"]:
            launch["parity"]["output_sha256"] = "5" * 64
    return msgspec.convert(plain, Run)


@pytest.mark.parametrize("answers", [False, True])
def test_what_was_computed_from_something_else_is_not_reproduced(answers: bool) -> None:
    other = of_another_question(record("theirs"), weights_sha256="2" * 64, inputs_sha256="3" * 64, answers=answers)
    found = held(other, record("ours", 2), allowed=0.25)
    assert found.exit_code == 3
    assert found.answer == "Of 12 results: 12 not comparable. Of 6 answers: 6 not compared."
    assert {row.reason.partition(" (")[0] for row in found.rows} == {"the inputs are not the same"}
    assert found.notes[1] == "No time could be compared."
    elsewhere = with_machine(record("ours", 2), cpu={"model": "Another Processor"})
    assert held(other, elsewhere).notes[1].startswith("No time could be compared, and no two")


def test_times_of_another_region_are_not_reproduced_and_what_is_not_timed_is() -> None:
    found = held(asks(record("theirs"), timed_region="the whole process"), record("ours", 2), allowed=0.25)
    assert found.exit_code == 3
    assert found.answer == "Of 12 results: 6 not comparable, 6 reproduced. Of 6 answers: 6 reproduced."


def test_no_speed_of_a_smoke_run_is_judged() -> None:
    smoke = msgspec.structs.replace(asks(record("theirs"), profile="smoke"), labels=("smoke",))
    for theirs, ours in ((smoke, record("ours", 2)), (record("ours", 2), smoke)):
        found = held(theirs, ours, allowed=0.25)
        assert (found.exit_code, {row.verdict for row in found.rows}) == (3, {Verdict.INCOMPARABLE})
        assert found.answer == "Of 12 results: 12 not comparable. Of 6 answers: 6 reproduced."


def test_an_answer_that_is_right_only_here_is_not_reproduced() -> None:
    theirs = with_parity(
        record("theirs"), "onnxruntime", lambda parity: msgspec.structs.replace(parity, equal=False, reason="Far off.")
    )
    found = held(theirs, record("ours", 2), allowed=0.25)
    assert (found.exit_code, found.answer) == (
        3, "Of 8 results: 8 reproduced. Of 6 answers: 4 reproduced, 2 not the same.",
    )  # fmt: skip


def test_answers_to_a_data_set_are_compared_where_they_are_given_again() -> None:
    def judged(of: Run, right: int) -> Run:
        known = DataSet("imagenet", "ImageNet", "mlp", ("top-1",), "0" * 64, 50, tuple(range(40)))
        arm = of.blocks[0].arms[0].id
        given = Accuracy("imagenet", "mlp", "fp32", "cpu", 1, arm, right={"top-1": (1,) * right + (0,) * (40 - right)})
        return msgspec.structs.replace(of, data_sets=(known,), accuracies=(given,))

    theirs, ours = judged(record("theirs", 1), 38), record("ours", 2)
    worse, same, none = (held(theirs, each, allowed=0.25) for each in (judged(ours, 20), judged(ours, 38), ours))
    assert [each.exit_code for each in (worse, same, none)] == [1, 0, 3]
    assert Verdict.MOVED in verdicts(worse).values()
    assert set(verdicts(none).values()) == {Verdict.REPRODUCED}
    assert "Not answered again: imagenet." in none.notes
    assert "every answer" not in none.answer
