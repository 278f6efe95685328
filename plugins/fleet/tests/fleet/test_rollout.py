"""Did a roll-out hurt, and where: the same nodes before and after it."""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

from levelfield.analysis.summary import Reduced, reduce
from levelfield.analysis.types import WindowsOf
from levelfield.compare.formats import WRITERS
from levelfield.compare.types import Comparison, Gate, Verdict
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Failure, Run
from levelfield_fleet.gather import Gathered
from levelfield_fleet.rollout import compare
from tests.compare.runs import with_machine
from tests.fleet.samples import small

NODES = 12
RUNS = 3


def own(record: Run) -> Reduced:
    return reduce(record, hashlib.sha256(record.id.encode()).hexdigest())


def gathered(
    side: str, nodes: int = NODES, runs: int = RUNS, *, odd: Mapping[str, Any] | None = None, **options: Any
) -> Gathered:
    """Runs of nodes; those of `node-0` with options of their own."""
    found = {}
    for number in range(nodes):
        chosen = options | dict(odd or {} if number == 0 else {})
        seeds = (1000 * (side == "new") + 10 * number + index + 1 for index in range(runs))
        found[f"node-{number}"] = tuple(
            own(small(f"{side}-{number}-{index}", seed, **chosen)) for index, seed in enumerate(seeds)
        )
    return Gathered(found, {}, ())


def judged(old: Gathered, new: Gathered, **gate: Any) -> Comparison:
    return compare(old, new, gate=Gate(**gate), level=0.01)


def test_a_roll_out_that_did_nothing_is_the_same() -> None:
    found = judged(gathered("old"), gathered("new"), margin=0.05)
    assert found.exit_code == 0
    (row,) = found.rows
    assert row.verdict is Verdict.SAME
    assert row.old_replicates == row.new_replicates == NODES
    assert row.ratio is not None
    assert row.ratio.low is not None
    assert found.replicate == "node"


def test_a_common_slowdown_is_found_with_its_interval() -> None:
    found = judged(gathered("old"), gathered("new", slower={"onnxruntime": 1.1}))
    assert found.exit_code == 1
    (row,) = found.rows
    assert row.verdict is Verdict.SLOWER
    assert row.ratio is not None
    assert row.ratio.low is not None
    assert row.ratio.high is not None
    assert row.ratio.low < 1.1 < row.ratio.high
    assert found.answer.startswith("Worse: onnxruntime on MLP")


def test_slowed_runs_other_states_and_lost_results_are_not_fine() -> None:
    def changed(side: Gathered, change: Callable[[Reduced], Reduced], first: int = 0) -> Gathered:
        nodes = {name: (*map(change, runs[first:]), *runs[:first]) for name, runs in side.nodes.items()}
        return msgspec.structs.replace(side, nodes=nodes)

    def windows(of: WindowsOf, run: Reduced) -> Reduced:
        answers = {key: msgspec.structs.replace(each, windows_of=of) for key, each in run.answers.items()}
        return msgspec.structs.replace(run, answers=answers)

    def injected(run: Reduced) -> Reduced:
        arms = {name: msgspec.structs.replace(arm, inject="5%") for name, arm in run.arms.items()}
        return msgspec.structs.replace(run, arms=arms)

    old, new = gathered("old"), gathered("new")
    assert judged(old, new, margin=0.05).exit_code == 0
    for before, after, reason in (
        (changed(old, injected), new, "its old runs were slowed down on purpose"),
        (
            changed(old, partial(windows, "all")),
            changed(new, partial(windows, "calm")),
            "the machine was rarely calm in 3; then calm",
        ),
        (old, changed(new, lambda run: msgspec.structs.replace(run, answers={}), 1), "only 1 of 3 runs have a result"),
    ):
        found = judged(before, after, margin=0.05)
        assert found.exit_code == 3
        assert all(row.reason.startswith(reason) for row in found.rows)


def test_a_node_that_changed_unlike_the_others_has_a_row_of_its_own() -> None:
    found = judged(gathered("old"), gathered("new", odd={"slower": {"onnxruntime": 1.4}}), margin=0.05)
    assert found.exit_code == 1
    (own,) = (row for row in found.rows if row.node)
    assert (own.node, own.verdict, own.outcome) == ("node-0", Verdict.SLOWER, "worse")
    assert own.ratio is not None
    assert own.ratio.value == pytest.approx(1.4, rel=0.05)
    assert own.id == "node-0: onnxruntime/mlp/latency/fp32/b1/t2/cpu"
    assert "onnxruntime (node-0) on MLP" in found.answer


def test_a_node_that_is_slow_on_both_sides_did_not_change() -> None:
    slow = {"slower": {"onnxruntime": 1.4}}
    found = judged(gathered("old", odd=slow), gathered("new", odd=slow), margin=0.05)
    assert [row.node for row in found.rows] == [""]


def test_a_case_that_fails_now_on_one_node_is_told_for_that_node() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    found = judged(gathered("old"), gathered("new", odd={"failures": {("onnxruntime", "mlp"): crash}}))
    (own,) = (row for row in found.rows if row.node)
    assert (own.node, own.verdict, own.outcome) == ("node-0", Verdict.FAILED, "worse")
    assert "signal 9" in own.reason
    assert found.exit_code == 1


def test_what_a_node_does_not_answer_any_more_has_a_row() -> None:
    both = ["jax", "onnxruntime"]
    old = gathered("old", 5, backends=both)
    one = judged(old, gathered("new", 5, odd={"backends": ["onnxruntime"]}, backends=both), margin=0.5)
    assert [(row.node, row.verdict) for row in one.rows if row.outcome == "undecided"] == [("node-0", Verdict.MISSING)]
    gone = judged(old, gathered("new", 5, backends=["onnxruntime"]), margin=0.5)
    assert [row.verdict for row in gone.rows if row.old_arm == "jax"] == [Verdict.MISSING]
    assert one.exit_code == gone.exit_code == 3


def test_two_nodes_are_shown_and_not_judged() -> None:
    found = judged(gathered("old", 2), gathered("new", 2, slower={"onnxruntime": 1.5}))
    assert found.exit_code == 3
    (row,) = found.rows
    assert row.verdict is Verdict.UNDECIDABLE
    assert row.reason == "from 2 nodes: 3 are needed"
    assert "fewer than 3 nodes a side" in found.answer


def test_other_hardware_and_nodes_of_one_side_are_left_out_and_reach_the_verdict() -> None:
    old, new = gathered("old", 5, 1), gathered("new", 5, 1)
    other = with_machine(small("other", 9), cpu={"model": "Another processor"})
    nodes = dict(new.nodes) | {"node-1": (own(other),), "fresh": (own(small("fresh", 8)),), "node-2": (), "dead": ()}
    found = judged(old, msgspec.structs.replace(new, nodes=nodes, notes=("node-2 has no record.",)), margin=0.5)
    assert {row.node: (row.verdict, row.new_replicates) for row in found.rows} == {
        "": (Verdict.SAME, 3), **dict.fromkeys(("dead", "node-1", "node-2"), (Verdict.MISSING, 0)),
    }  # fmt: skip
    assert found.exit_code == 3
    assert all(name in WRITERS["junit"](found) for name in ("dead", "node-1", "node-2"))
    text = " ".join(found.notes)
    for note in (
        "Hardware that is not known to be the same as before, and left out: node-1.",
        "Only before, and left out: node-2.", "Only after, and left out: fresh.", "After: node-2 has no record.",
    ):  # fmt: skip
        assert note in text


def test_folders_without_a_node_in_common_are_one_sentence() -> None:
    old = gathered("old", 1, 1)
    with pytest.raises(LevelfieldError, match="no node in common"):
        judged(old, Gathered({"other": old.nodes["node-0"]}, {}, ()))
    with pytest.raises(LevelfieldError, match="no case in common"):
        judged(old, gathered("new", 1, 1, backends=["jax"]))


def test_a_run_that_is_in_both_folders_is_refused() -> None:
    old, new = gathered("old", 4, 1), gathered("new", 4, 1)
    both = {name: (*runs, *old.nodes[name]) if name == "node-2" else runs for name, runs in new.nodes.items()}
    with pytest.raises(LevelfieldError, match="1 run of the old folder is also in the new one"):
        judged(old, Gathered(both, {}, ()))
