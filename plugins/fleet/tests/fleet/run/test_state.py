"""How far a fleet is follows from its journal."""

import msgspec
import pytest
from levelfield_fleet.run.events import AttemptBegun, AttemptFailed, NodeDone, Resumed
from levelfield_fleet.run.state import fold
from tests.fleet.run.fleets import AT, begun, seen, state

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import Lost

FAILED = AttemptFailed(AT, "node-01", "It was lost.")


def test_an_attempt_that_the_head_did_not_survive_costs_no_try() -> None:
    node = state(AttemptBegun(AT, "node-01")).nodes["node-01"]
    assert (node.attempts, node.failures, node.runs) == (1, 0, ())


def test_resuming_gives_tries_anew_and_keeps_runs() -> None:
    found = state(
        NodeDone(AT, "node-02", "run-2", "0" * 64), FAILED, AttemptFailed(AT, "node-03", "x", final=True), Resumed(AT)
    )
    assert [node.failures for node in found.nodes.values()] == [0, 0, 0]
    assert not found.nodes["node-03"].refused
    assert found.has_all(found.nodes["node-02"])
    assert found.nodes["node-01"].reason == "It was lost."


def test_every_run_that_came_back_is_known() -> None:
    found = state(NodeDone(AT, "node-01", "run-1", ""), NodeDone(AT, "node-02", "run-2", ""))
    assert found.known_runs() == {"run-1", "run-2"}


def test_a_node_that_is_to_measure_twice_has_all_runs_after_the_second() -> None:
    first, second = (NodeDone(AT, "node-01", f"run-{number}", "") for number in (1, 2))
    twice = msgspec.structs.replace(begun(), repeat=2)
    once = fold([twice, seen(1), seen(2), FAILED, first])
    assert not once.has_all(once.nodes["node-01"])
    assert once.nodes["node-01"].failures == 0, "each run has its tries"
    both = fold([twice, seen(1), seen(2), FAILED, first, second])
    assert both.has_all(both.nodes["node-01"])


def test_every_run_of_every_node_has_a_seed_of_its_own() -> None:
    twice = msgspec.structs.replace(begun(), repeat=2)
    before = fold([twice, seen(1), seen(2)])
    after = fold([twice, seen(1), seen(2), *(NodeDone(AT, f"node-0{each}", f"run-{each}", "") for each in (1, 2))])
    seeds = [found.seed(name) for found in (before, after) for name in found.nodes]
    assert len(set(seeds)) == 4


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], "does not begin"),
        ([seen(1)], "does not begin"),
        ([begun(), begun()], "holds two fleets"),
        ([begun(), FAILED], "node-01, which it did not see"),
        ([begun(), Lost(2)], "damaged in line 2"),
    ],
)
def test_what_does_not_belong_together_is_refused(events: list[object], says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        fold(events)  # type: ignore[arg-type]
