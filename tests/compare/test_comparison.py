"""From runs to a verdict, an exit code and a first line: what may be said, and above all what may not."""

from collections.abc import Callable

import msgspec
import pytest

from levelfield.analysis.summary import Answer, Reduced
from levelfield.analysis.types import WindowsOf
from levelfield.compare import phrases
from levelfield.compare.comparison import compare_runs
from levelfield.compare.rows import Selection
from levelfield.compare.types import Gate, Verdict
from levelfield.compatibility import gate
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Absent, Failure, Generation, Reason
from tests.compare.runs import one, reduced, row, run, side, with_machine
from tests.records_builder import with_generations


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


def told(windows_of: WindowsOf) -> Callable[[Answer], Answer]:
    return lambda answer: msgspec.structs.replace(answer, windows_of=windows_of)


def lost(answer: Answer) -> Answer:
    return Answer("absent", reason="no window was completed before the run ended")


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


def at(run: Reduced, minute: int) -> Reduced:
    return msgspec.structs.replace(
        run, facts=msgspec.structs.replace(run.facts, started=f"2026-11-21T10:{minute:02}:00Z")
    )


def test_runs_of_calm_windows_are_compared_alone_where_there_are_enough() -> None:
    half = with_answers(OLD[:2], told("all")) + with_answers(OLD[2:], told("calm"))
    judged = row(compare_runs(half, with_answers(NEW, told("calm")), gate=Gate(margin=0.2)), "onnxruntime")
    assert (judged.outcome, judged.old_replicates, judged.new_replicates) == ("fine", 3, 5)


CRASH = Failure(stage="load", kind="crashed", message="It ended with signal 9.")


def test_no_answer_is_never_a_success() -> None:
    found = one(run("a", backends=["jax"], failures={("jax", "mlp"): CRASH}), run("b", backends=["jax"]))
    assert found.exit_code == 3
    assert found.answer.startswith("Nothing could be compared")


def test_a_strangers_text_stays_short_and_on_one_line() -> None:
    assert phrases.clean("a\nb\x1b[31m") == "a b�[31m"
    assert len(phrases.clean("x" * 1000)) == phrases.LONGEST
    assert phrases.value(f"digest {'a' * 64}") == f"digest {'a' * 12}…"
