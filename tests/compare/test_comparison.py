"""From runs to a verdict, an exit code and a first line: what may be said, and above all what may not."""

from collections.abc import Callable

import msgspec
import pytest

from levelfield.analysis.summary import Answer, Reduced
from levelfield.analysis.types import MeasuredIn
from levelfield.compare import phrases, sides
from levelfield.compare.comparison import compare_runs
from levelfield.compare.rows import Selection
from levelfield.compare.types import Gate, Verdict
from levelfield.compatibility import gate
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Absent, Failure, Generation, Reason, Run, Warning_
from levelfield.record.warnings import JOURNAL_DAMAGED
from tests.compare.runs import one, reduced, row, run, side, with_machine
from tests.known import known
from tests.records_builder import with_generations, with_launches


def test_unrelated_runs_are_refused_in_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match=r"^The two sides have no cases in common: the old side has [12] result"):
        one(run("a", backends=["jax"]), run("b", backends=["torch"]))


def test_a_run_counts_once() -> None:
    with pytest.raises(LevelfieldError, match="The run a is named on both sides"):
        one(run("a"), run("a"))
    with pytest.raises(LevelfieldError, match="The run a is named twice on the old side"):
        compare_runs([reduced(run("a")), reduced(run("a", 2))], [reduced(run("b"))])


def test_a_selection_that_leaves_nothing() -> None:
    with pytest.raises(LevelfieldError, match=r"No case is left to compare with --only torch/\*") as caught:
        one(run("a"), run("b"), selection=Selection(only=("torch/*",)))
    assert caught.value.fix == "There are 2 results, such as jax/mlp/latency/fp32/b1/t2/cpu."


@pytest.mark.parametrize("slower", [1.0, 3.0])
def test_other_hardware_is_reported_and_never_a_regression(slower: float) -> None:
    new = [
        reduced(with_machine(run(f"b-{seed}", seed, slower={"onnxruntime": slower}), cpu={"model": "Another"}))
        for seed in range(5)
    ]
    found = compare_runs(side("a", 5, 20), new)
    assert found.same_hardware is False
    assert found.exit_code == 3
    assert "worse" not in {row.outcome for row in found.rows}
    assert "fine" not in {row.outcome for row in found.rows}
    assert found.answer.startswith("The two sides ran on different hardware")
    assert any("cpu model (AMD EPYC 9R45 and Another)" in note for note in found.notes)
    if slower > 1:
        assert row(found, "onnxruntime").verdict is Verdict.SLOWER
        assert row(found, "onnxruntime").reason == "on other hardware"


def test_another_kernel_is_not_other_hardware() -> None:
    found = one(run("a"), with_machine(run("b"), kernel={"release": "7.0"}))
    assert found.same_hardware is True
    assert found.notes[0] == "What changed: Kernel: release 6.1.0-37-amd64 → 7.0."


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("580.95.05", "570.124.06", "The NVIDIA driver went back from 580.95.05 to 570.124.06."),
        ("580.95.05", Absent("no driver answers"), "The driver 580.95.05 is gone"),
        ("570.26", "570.124.06", None),
    ],
)
def test_a_driver_that_went_back_is_said(before: str, after: str | Absent, says: str | None) -> None:
    old, new = with_machine(run("a"), gpu={"driver": before}), with_machine(run("b"), gpu={"driver": after})
    notes = one(old, new, table=gate.read()).notes
    assert any(note.startswith(says or "The NVIDIA driver") for note in notes) == (says is not None)


def told(windows_of: MeasuredIn) -> Callable[[Answer], Answer]:
    return lambda answer: msgspec.structs.replace(answer, windows_of=windows_of)


def lost(answer: Answer) -> Answer:
    return Answer("absent", reason="no window was completed before the run ended")


def lacking(answer: Answer) -> Answer:
    return msgspec.structs.replace(answer, lacking="2 of 5 launches were lost to the engine or an interruption")


def with_answers(runs: list[Reduced], change: Callable[[Answer], Answer]) -> list[Reduced]:
    """Change the answers of ONNX Runtime."""
    return [
        msgspec.structs.replace(
            run, answers={key: change(each) if key[0] == "onnxruntime" else each for key, each in run.answers.items()}
        )
        for run in runs
    ]


def slowed(runs: list[Reduced]) -> list[Reduced]:
    """Say that ONNX Runtime was slowed down on purpose."""
    return [
        msgspec.structs.replace(
            run, arms=run.arms | {"onnxruntime": msgspec.structs.replace(run.arms["onnxruntime"], inject="5%")}
        )
        for run in runs
    ]


OLD, NEW = side("a", 5, 20), side("b", 5, 40)
CALM, BUSY = told("calm"), told("contended throughout")
NOT_FINE = {
    "the machine was rarely calm in 5; then calm in 5": (with_answers(OLD, told("all")), with_answers(NEW, CALM)),
    "the machine was contended throughout in 5; then in the one state seen in 5": (
        with_answers(OLD, BUSY), with_answers(NEW, told("one state")),
    ),
    "the machine was calm in 1, contended throughout in 4; then calm in 5": (
        with_answers(OLD[:1], CALM) + with_answers(OLD[1:], BUSY), with_answers(NEW, CALM),
    ),
    "its old runs were slowed down on purpose": (slowed(OLD), NEW),
    "only 3 of 5 runs have a result": (OLD, with_answers(NEW[:2], lost) + NEW[2:]),
    "the machine was not probed in 5; then not probed in 3, disturbed from outside in 5": (
        OLD, NEW[:3] + with_answers(side("c", 5, 60), told("disturbed")),
    ),
    "2 of 5 launches were lost to the engine or an interruption": (OLD, with_answers(NEW[:1], lacking) + NEW[1:]),
}  # fmt: skip


@pytest.mark.parametrize("reason", NOT_FINE)
def test_what_is_not_comparable_or_not_whole_is_not_fine(reason: str) -> None:
    assert row(compare_runs(OLD, NEW, gate=Gate(margin=0.2)), "onnxruntime").outcome == "fine"
    found = compare_runs(*NOT_FINE[reason], gate=Gate(margin=0.2))
    assert found.exit_code == 3
    judged = row(found, "onnxruntime")
    assert (judged.verdict, judged.outcome, judged.reason) == (Verdict.UNDECIDED, "undecided", reason)


def test_rounds_that_were_disturbed_are_a_state_of_the_machine() -> None:
    def stolen(generation: Generation) -> Generation:
        rounds = (msgspec.structs.replace(each, disturbed=(Reason("steal", 0.09, 0.02),)) for each in generation.rounds)
        return msgspec.structs.replace(generation, rounds=tuple(rounds))

    disturbed = reduced(with_generations(run("a"), stolen))
    assert {answer.windows_of for answer in disturbed.answers.values()} == {"disturbed"}
    assert {answer.windows_of for answer in reduced(run("b")).answers.values()} == {""}
    alone = row(compare_runs([disturbed], [reduced(run("b"))]), "jax")
    assert alone.reason == "from one run a side; the machine was disturbed from outside in 1; then not probed in 1"


def test_pairs_of_two_states_are_no_pairs() -> None:
    """In turns, old runs contended and new ones calm: only the first pair is of one state."""
    old = [at(run, 2 * number + number % 2) for number, run in enumerate(side("a", 8, 20))]
    new = [at(run, 2 * number + (number + 1) % 2) for number, run in enumerate(side("b", 8, 40))]
    paired = row(compare_runs(old, new, gate=Gate(margin=0.2)), "onnxruntime")
    assert (paired.paired, paired.outcome) == (True, "fine")
    old, new = with_answers(old[:1], CALM) + with_answers(old[1:], BUSY), with_answers(new, CALM)
    judged = row(compare_runs(old, new, gate=Gate(margin=0.2)), "onnxruntime")
    assert (judged.outcome, judged.reason) == (
        "undecided", "the machine was calm in 1, contended throughout in 7; then calm in 8",
    )  # fmt: skip


def test_a_new_run_whose_old_one_has_no_result_is_not_left_out_in_silence() -> None:
    old = [at(run, 2 * number + number % 2) for number, run in enumerate(side("a", 8, 20))]
    new = [at(run, 2 * number + (number + 1) % 2) for number, run in enumerate(side("b", 8, 40))]
    judged = row(compare_runs(old[:5] + with_answers(old[5:], lost), new, gate=Gate(margin=0.2)), "onnxruntime")
    assert (judged.paired, judged.outcome) == (True, "undecided")
    assert judged.reason == "of 3 new runs the old one has no result"


def at(run: Reduced, minute: int) -> Reduced:
    return msgspec.structs.replace(
        run, facts=msgspec.structs.replace(run.facts, started=f"2026-11-21T10:{minute:02}:00Z")
    )


def test_runs_of_calm_windows_are_compared_alone_where_there_are_enough() -> None:
    half = with_answers(OLD[:2], told("all")) + with_answers(OLD[2:], told("calm"))
    judged = row(compare_runs(half, with_answers(NEW, told("calm")), gate=Gate(margin=0.2)), "onnxruntime")
    assert (judged.outcome, judged.old_replicates, judged.new_replicates) == ("fine", 3, 5)
    assert judged.reason == "of 3 of 5 old runs, calm"


def test_what_a_record_lacks_is_told() -> None:
    def without(index: int) -> Callable[[Generation], Generation]:
        def change(generation: Generation) -> Generation:
            gone = generation.index == index
            launches = (each for each in generation.launches if each.arm != "jax" or not gone)
            return msgspec.structs.replace(generation, launches=tuple(launches))

        return change

    def told_of(record: Run) -> set[str]:
        return {answer.lacking for (arm, _), answer in reduced(record).answers.items() if arm == "jax"}

    engine = Failure(stage="launch", kind="engine", message="It went away.")
    assert told_of(run("a")) == {""}
    assert told_of(with_generations(run("a"), without(1))) == {"1 of 5 generations lack it"}
    gone = with_launches(run("a"), lambda each: msgspec.structs.replace(each, failure=engine), "jax")
    assert told_of(gone) == {"5 of 5 launches were lost to the engine or an interruption"}
    cut = with_generations(
        run("a"), lambda each: msgspec.structs.replace(each, rounds=() if each.index else each.rounds)
    )
    assert told_of(cut) == {"4 of 5 launches have no value"}
    damaged = msgspec.structs.replace(run("a"), warnings=(Warning_(JOURNAL_DAMAGED, "Lines are lost."),))
    assert told_of(damaged) == {"a part of its run's journal was damaged"}


def test_the_hardware_of_any_two_runs_counts_and_a_canary_is_told() -> None:
    def facts(each: Reduced, **known: str) -> Reduced:
        return msgspec.structs.replace(each, hardware={"cpu model": "X", **known})

    old = [facts(OLD[0]), *(facts(each, cores="2") for each in OLD[1:])]
    for order in (old, old[::-1]):
        found = compare_runs(order, [facts(each, cores="64") for each in NEW], gate=Gate(margin=0.2))
        assert (found.exit_code, found.same_hardware) == (3, False)
        assert "Other hardware: cores (2 and 64)" in " ".join(found.notes)
    assert not any("canary" in note for note in compare_runs(OLD, NEW).notes)
    quick = [
        msgspec.structs.replace(each, canary=Answer("shown", cost=known(known(each.canary).cost) / 2)) for each in NEW
    ]
    assert any(
        "the canary, the same computation everywhere, took 0.50 times" in each
        for each in compare_runs(OLD, quick).notes
    )


def test_every_glob_and_metric_selects_something() -> None:
    for chosen, left in (
        (Selection(only=("jax/*", "torch/*")), "torch/\\*"),
        (Selection(metrics=("latency", "memory")), "memory"),
    ):
        with pytest.raises(LevelfieldError, match=f"No case is {left}"):
            compare_runs(OLD, NEW, selection=chosen)


def test_other_inputs_of_timed_calls_and_rights_to_another_question_are_no_success() -> None:
    def other(**digests: frozenset[str]) -> Callable[[Answer], Answer]:
        return lambda answer: msgspec.structs.replace(answer, **digests)

    timed = with_answers(OLD, other(timed_inputs=frozenset("a"))), with_answers(NEW, other(timed_inputs=frozenset("b")))
    assert row(compare_runs(*timed, gate=Gate(margin=0.2)), "onnxruntime").verdict is Verdict.INCOMPARABLE
    wrong = with_answers(OLD, lambda each: msgspec.structs.replace(each, standing="unequal", reason="far off"))
    assert row(compare_runs(wrong, NEW), "onnxruntime").outcome == "fine"
    asked = with_answers(NEW, other(inputs=frozenset("b")))
    assert row(compare_runs(wrong, asked), "onnxruntime").verdict is Verdict.INCOMPARABLE


def test_copies_are_told_by_how_launches_began_and_chance_is_none() -> None:
    copies = [reduced(run(name, scenarios=["memory"])) for name in ("a", "b")]
    assert sides.originals(copies) == [0, 0]
    assert sides.originals([copies[0], reduced(run("c", 2, scenarios=["memory"]))]) == [0, 1]
    by_chance = [
        msgspec.structs.replace(OLD[0], answers={}, marks=frozenset({("x", float(at + shift)) for at in range(100)}))
        for shift in (0, 90)
    ]
    assert sides.originals(by_chance) == [0, 1]


def test_a_failure_on_other_hardware_is_no_regression() -> None:
    gone = with_machine(run("b", failures={("jax", "mlp"): CRASH}), cpu={"model": "another"})
    assert one(run("a"), gone).exit_code == 3


CRASH = Failure(stage="load", kind="crashed", message="It ended with signal 9.")


def test_no_answer_is_never_a_success() -> None:
    found = one(run("a", backends=["jax"], failures={("jax", "mlp"): CRASH}), run("b", backends=["jax"]))
    assert found.exit_code == 3
    assert found.answer.startswith("Nothing could be compared")


def test_a_strangers_text_stays_short_and_on_one_line() -> None:
    assert phrases.clean("a\nb\x1b[31m") == "a b�[31m"
    assert len(phrases.clean("x" * 1000)) == phrases.LONGEST
    assert phrases.value(f"digest {'a' * 64}") == f"digest {'a' * 12}…"
