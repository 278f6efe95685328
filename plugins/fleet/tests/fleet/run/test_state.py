"""How far a fleet is follows from its journal; which nodes come next, and what they are called."""

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import Lost
from levelfield_fleet.run.journal import AttemptBegun, AttemptFailed, NodeDone, Resumed
from levelfield_fleet.run.state import Seen, after, fold, newly_seen, next_nodes
from tests.fleet.run.fleets import AT, begun, seen, state

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


ALIVE = {"ray-1", "ray-2", "ray-3"}


def failed(number: int, *, final: bool = False) -> AttemptFailed:
    return AttemptFailed(AT, f"node-{number:02}", "It was lost.", final=final)


def done(number: int) -> NodeDone:
    return NodeDone(AT, f"node-{number:02}", f"run-{number}", "0" * 64)


def test_all_nodes_begin_at_once_unless_told_otherwise() -> None:
    assert next_nodes(state(), (), ALIVE, at_once=None, tries=2) == ["node-01", "node-02", "node-03"]
    assert next_nodes(state(), (), ALIVE, at_once=2, tries=2) == ["node-01", "node-02"]
    assert next_nodes(state(), ("node-01",), ALIVE, at_once=2, tries=2) == ["node-02"]
    assert next_nodes(state(), ("node-01", "node-02"), ALIVE, at_once=2, tries=2) == []


def test_a_node_that_failed_comes_after_those_that_did_not() -> None:
    assert next_nodes(state(failed(1)), (), ALIVE, at_once=None, tries=2) == ["node-02", "node-03", "node-01"]


def test_a_node_is_tried_so_often_and_a_refused_one_once() -> None:
    assert next_nodes(state(failed(1), failed(1)), (), ALIVE, at_once=None, tries=2) == ["node-02", "node-03"]
    assert next_nodes(state(failed(1, final=True)), (), ALIVE, at_once=None, tries=2) == ["node-02", "node-03"]


def test_first_runs_come_before_second_ones() -> None:
    found = state(done(1), failed(2))
    twice = msgspec.structs.replace(found, begun=msgspec.structs.replace(found.begun, repeat=2))
    assert next_nodes(twice, (), ALIVE, at_once=None, tries=2) == ["node-03", "node-02", "node-01"]


def test_neither_a_node_with_a_run_nor_one_that_is_gone_begins() -> None:
    assert next_nodes(state(done(2)), (), {"ray-2", "ray-3"}, at_once=None, tries=2) == ["node-03"]


def test_names_are_numbers_in_the_order_of_ids() -> None:
    found = list(newly_seen(state(nodes=0), [Seen("f"), Seen("a"), Seen("c", host="db-17")], AT))
    assert [(each.node, each.ray_id) for each in found] == [("node-01", "a"), ("db-17", "c"), ("node-02", "f")]


def test_a_late_node_is_added_and_no_other_changes_its_name() -> None:
    (late,) = newly_seen(state(), [Seen("ray-1"), Seen("ray-0"), Seen("ray-3")], AT)
    assert (late.node, late.ray_id) == ("node-04", "ray-0")


def test_a_machine_whose_ray_was_started_again_keeps_its_name_and_seed() -> None:
    before = state()
    (again,) = newly_seen(before, [Seen("ray-1"), Seen("other", machine="machine-2"), Seen("ray-3")], AT)
    assert again == seen(2, ray_id="other")
    assert after(before, again).seed("node-02") == before.seed("node-02")


def test_a_machine_that_is_alive_gives_its_name_to_no_other() -> None:
    (new,) = newly_seen(state(), [Seen("ray-2", machine="machine-2"), Seen("other", machine="machine-2")], AT)
    assert new.node == "node-04"


def test_two_hosts_of_one_name_have_two_names() -> None:
    found = list(newly_seen(state(nodes=0), [Seen("a", host="gpu"), Seen("b", host="gpu")], AT))
    assert [each.node for each in found] == ["gpu", "gpu-01"]


def test_every_node_has_a_seed_of_its_own() -> None:
    found = state()
    assert len({found.seed(name) for name in found.nodes}) == 3
    wide = state(nodes=2)
    assert after(wide, seen(3)).seed("node-03") == begun().seed + 2
