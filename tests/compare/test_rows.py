"""From the answers of two sides to rows: which are judged, which are not, and in which order."""

import msgspec
import pytest

from levelfield.compare.comparison import compare_runs
from levelfield.compare.rows import Selection
from levelfield.compare.types import Gate, Row, Verdict
from levelfield.record.schema import Failure, Generation, Launch, Run
from tests.compare.runs import losing_a_launch, one, only, reduced, row, run, side, without_arm
from tests.known import known
from tests.records_builder import with_generations

CRASH = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
ENGINE = Failure(stage="launch", kind="engine", message="The engine went away.")
UNSUPPORTED = Failure(stage="load", kind="unsupported", message="bf16 is not supported here.")


def test_a_slowdown_is_found_and_named() -> None:
    found = compare_runs(side("a", 5), side("b", 5, 11, slower={"onnxruntime": 1.2}))
    slow = row(found, "onnxruntime")
    assert (slow.verdict, slow.outcome) == (Verdict.SLOWER, "worse")
    assert slow.ratio is not None
    assert 1 < known(slow.ratio.low) < 1.2 < known(slow.ratio.high)
    assert slow.confidence == pytest.approx(0.995)  # one of two rows changed
    assert (slow.old_replicates, slow.new_replicates) == (5, 5)
    assert found.exit_code == 1
    assert found.answer.startswith("Worse: onnxruntime on MLP (latency, batch 1): 19\u00a0% slower (15–23\u00a0%).")
    assert found.rows[0] is slow


def test_no_difference_shown_is_the_same() -> None:
    found = compare_runs(side("a", 3, noise_scale=0.0), side("b", 3, noise_scale=0.0))
    assert {row.verdict for row in found.rows} == {Verdict.SAME}
    assert found.exit_code == 0
    assert found.answer == (
        "Nothing got worse: all 2 cases are the same within 2\u00a0%. All 2 answers are identical, bit by bit."
    )


def test_noise_without_a_verdict_says_what_it_would_take() -> None:
    found = compare_runs(side("a", 3), side("b", 3, 11))
    undecided = [row for row in found.rows if row.verdict is Verdict.UNDECIDED]
    assert undecided
    for each in undecided:
        assert each.further is not None
        assert each.further > 0
        # Both records say that a run took nine minutes and twelve seconds.
        assert each.further_seconds == pytest.approx(each.further * 2 * 552)
    assert found.exit_code == 3
    assert any(note.startswith("To decide all that is not decided") for note in found.notes)


@pytest.mark.parametrize(("allowed", "code"), [(0.10, 1), (0.40, 0)])
def test_a_gate_allows_what_it_says(allowed: float, code: int) -> None:
    found = compare_runs(
        side("a", 5),
        side("b", 5, 11, slower={"onnxruntime": 1.2}),
        gate=Gate(max_slowdown=allowed),
        selection=Selection(("onnxruntime/*",)),
    )
    assert only(found.rows).verdict is Verdict.SLOWER
    assert found.exit_code == code


def test_worse_comes_first_by_the_ratio_and_not_by_its_size() -> None:
    """One run a side judges nothing: all rows have one outcome, and the largest slowdown comes before any speedup."""
    backends = ["jax", "onnxruntime", "openvino", "torch"]
    slower = {"jax": 0.4, "onnxruntime": 1.3, "openvino": 1.1}
    found = one(
        run("a", backends=backends, noise_scale=0.0), run("b", backends=backends, noise_scale=0.0, slower=slower)
    )
    assert [row.new_arm for row in found.rows] == ["onnxruntime", "openvino", "torch", "jax"]
    judged = compare_runs(
        side("a", 3, backends=backends), side("b", 3, backends=backends, slower=slower), gate=Gate(max_slowdown=0.9)
    )
    assert {row.outcome for row in judged.rows} == {"fine"}
    ratios = [row.ratio.value for row in judged.rows if row.ratio is not None]
    assert ratios == sorted(ratios, reverse=True)


def test_memory_cold_start_and_throughput_are_judged_too() -> None:
    scenarios = ["latency", "throughput", "cold-start", "memory"]
    found = compare_runs(side("a", 3, scenarios=scenarios), side("b", 3, 11, scenarios=scenarios))
    assert {row.metric for row in found.rows} == set(scenarios)
    assert all(row.ratio is not None and row.ratio.low is not None for row in found.rows)
    chosen = compare_runs(
        side("a", 3, scenarios=scenarios), side("b", 3, scenarios=scenarios), selection=Selection(metrics=("memory",))
    )
    assert {row.metric for row in chosen.rows} == {"memory"}
    assert len(chosen.drifts) == 2


@pytest.mark.parametrize(
    ("counts", "says"), [((1, 1), "from one run a side"), ((5, 1), "from 5 old and 1 new: 3 runs a side are needed")]
)
def test_few_runs_are_shown_and_not_judged(counts: tuple[int, int], says: str) -> None:
    found = compare_runs(side("a", counts[0]), side("b", counts[1], 11, slower={"onnxruntime": 3.0}))
    slow = row(found, "onnxruntime")
    assert (slow.verdict, slow.reason) == (Verdict.UNDECIDABLE, says)
    assert slow.ratio is not None
    assert slow.ratio.value == pytest.approx(3, rel=0.15)
    assert slow.ratio.low is None
    assert found.exit_code == 3
    assert found.answer.startswith("Whether anything got slower cannot be decided from")
    assert "All 2 answers are identical" in found.answer


def test_smoke_runs_judge_no_speed() -> None:
    found = compare_runs(side("a", 3, labels=("smoke",)), side("b", 3, labels=("smoke",)))
    assert {row.verdict for row in found.rows} == {Verdict.UNDECIDABLE}
    assert found.exit_code == 3
    assert "smoke" in found.answer


@pytest.mark.parametrize(
    ("old", "new", "verdict", "outcome", "code"),
    [
        (None, CRASH, Verdict.FAILED, "worse", 1),
        (None, ENGINE, Verdict.FAILED, "undecided", 3),
        (CRASH, CRASH, Verdict.FAILED, "undecided", 3),
        (CRASH, None, Verdict.RECOVERED, "aside", 3),
    ],
)
def test_failures(old: Failure | None, new: Failure | None, verdict: Verdict, outcome: str, code: int) -> None:
    """ "Could not run" is never "slower", and never "no regression"."""
    before, after = (
        run(name, failures={("onnxruntime", "mlp"): failure} if failure else {})
        for name, failure in (("a", old), ("b", new))
    )
    found = one(before, after, selection=Selection(("onnxruntime/*",)))
    failed = row(found, "onnxruntime")
    assert (failed.verdict, failed.outcome) == (verdict, outcome)
    assert failed.ratio is None
    assert found.exit_code == code
    assert "slower" not in found.answer or found.exit_code == 3
    if new is CRASH and old is None:
        assert found.answer.startswith(
            "Worse: onnxruntime on MLP (latency, batch 1) (It ended with signal 9) fails now"
        )


def test_a_failure_in_one_of_three_runs_is_a_failure() -> None:
    new = [*side("b", 2), reduced(run("b-2", 9, failures={("onnxruntime", "mlp"): CRASH}))]
    failed = row(compare_runs(side("a", 3), new), "onnxruntime")
    assert (failed.verdict, failed.outcome) == (Verdict.FAILED, "worse")
    assert failed.reason == "It ended with signal 9 (in 1 of 3 runs)"


def test_a_single_launch_that_crashed_is_a_failure_however_fast_the_others_are() -> None:
    def found(failure: Failure) -> Row:
        new = [reduced(losing_a_launch(run(f"b-{number}", 11 + number), failure)) for number in range(3)]
        return row(compare_runs(side("a", 3), new), "onnxruntime")

    crashed = found(CRASH)
    assert (crashed.verdict, crashed.outcome) == (Verdict.FAILED, "worse")
    assert crashed.reason == "not every launch worked: It ended with signal 9"
    assert found(ENGINE).ratio is not None
    both = [reduced(losing_a_launch(losing_a_launch(run(f"c-{n}", 11 + n), CRASH), ENGINE, 4)) for n in range(3)]
    assert row(compare_runs(side("a", 3), both), "onnxruntime").verdict is Verdict.FAILED


def test_what_failed_at_times_on_the_old_side_hides_no_slowdown() -> None:
    new = side("b", 3, 11, slower={"onnxruntime": 2.0})
    old = [*side("a", 2), reduced(losing_a_launch(run("a-2", 3), CRASH))]
    assert row(compare_runs(old, new), "onnxruntime").verdict is Verdict.SLOWER
    old = [*side("a", 2), reduced(run("a-2", 3, failures={("onnxruntime", "mlp"): CRASH}))]
    few = compare_runs(old, new)
    assert row(few, "onnxruntime").reason.startswith("from 2 old and 3 new")
    assert few.exit_code == 3
    alone = compare_runs(old[2:], new, selection=Selection(("onnxruntime/*",)))
    assert (row(alone, "onnxruntime").verdict, alone.exit_code) == (Verdict.RECOVERED, 3)


def test_trainings_of_which_some_reach_the_target_are_not_faster() -> None:
    def trained(name: str, seed: int) -> Run:
        return run(name, seed, scenarios=["convergence"])

    def lost(launch: Launch) -> Launch:
        assert launch.convergence is not None
        return msgspec.structs.replace(launch, convergence=msgspec.structs.replace(launch.convergence, points=()))

    def change(generation: Generation) -> Generation:
        launches = (lost(each) if each.arm == "jax" else each for each in generation.launches)
        return msgspec.structs.replace(generation, launches=tuple(launches)) if generation.index < 4 else generation

    old = [reduced(trained(f"a-{number}", number)) for number in range(3)]
    new = [reduced(with_generations(trained(f"b-{number}", 9 + number), change)) for number in range(3)]
    found = row(compare_runs(old, new), "jax")
    assert (found.verdict, found.outcome) == (Verdict.FAILED, "worse")
    assert found.reason == "4 of 5 launches did not reach the target"


def test_neither_side_supports_it_and_nothing_is_said() -> None:
    failures = {("onnxruntime", "mlp"): UNSUPPORTED}
    found = one(run("a", failures=failures), run("b", failures=failures))
    assert [row.new_arm for row in found.rows] == ["jax"]


def test_an_arm_that_is_gone_is_missing_and_a_new_one_is_added() -> None:
    found = one(run("a"), without_arm(run("b"), "onnxruntime"))
    gone = row(found, "onnxruntime")
    assert (gone.verdict, gone.outcome, gone.new_arm) == (Verdict.MISSING, "undecided", "")
    found = one(without_arm(run("a"), "onnxruntime"), run("b"))
    added = row(found, "onnxruntime")
    assert (added.verdict, added.outcome) == (Verdict.ADDED, "aside")
