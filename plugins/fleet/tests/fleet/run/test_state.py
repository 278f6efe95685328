"""How far a fleet is follows from its journal; which nodes come next, and what they are called."""

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import Lost
from levelfield_fleet.run.journal import AttemptBegun, AttemptFailed, Event, NodeDone, Resumed
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


def failed(number: int, *, final: bool = False) -> AttemptFailed:
    return AttemptFailed(AT, f"node-{number:02}", "It was lost.", final=final)


def done(number: int) -> NodeDone:
    return NodeDone(AT, f"node-{number:02}", f"run-{number}", "0" * 64)


def test_a_machine_whose_ray_was_started_again_keeps_its_name_and_seed() -> None:
    before = state()
    (again,) = newly_seen(before, [Seen("ray-1"), Seen("other", machine="machine-2"), Seen("ray-3")], AT)
    assert again == seen(2, ray_id="other")
    assert after(before, again).seed("node-02") == before.seed("node-02")


def test_a_machine_that_is_alive_gives_its_name_to_no_other() -> None:
    (new,) = newly_seen(state(), [Seen("ray-2", machine="machine-2"), Seen("other", machine="machine-2")], AT)
    assert new.node == "node-04"


@pytest.mark.parametrize(
    ("events", "running", "alive", "at_once", "expected"),
    [
        ([], (), "123", None, ["node-01", "node-02", "node-03"]),
        ([], (), "123", 2, ["node-01", "node-02"]),
        ([], ("node-01",), "123", 2, ["node-02"]),
        ([], ("node-01", "node-02"), "123", 2, []),
        ([failed(1)], (), "123", None, ["node-02", "node-03", "node-01"]),
        ([failed(1), failed(1)], (), "123", None, ["node-02", "node-03"]),
        ([failed(1, final=True)], (), "123", None, ["node-02", "node-03"]),
        ([done(2), done(2)], (), "23", None, ["node-03"]),
        ([done(1), failed(2)], (), "123", None, ["node-03", "node-02", "node-01"]),
    ],
)
def test_nodes_with_the_fewest_runs_and_failures_come_first(
    events: list[Event], running: tuple[str, ...], alive: str, at_once: int | None, expected: list[str]
) -> None:
    twice = fold([msgspec.structs.replace(begun(), repeat=2), *map(seen, (1, 2, 3)), *events])
    here = {f"ray-{number}" for number in alive}
    assert next_nodes(twice, running, here, at_once=at_once, tries=2) == expected


@pytest.mark.parametrize(
    ("alive", "names"),
    [
        ([Seen("f"), Seen("a"), Seen("c", host="db-17")], ["node-01", "db-17", "node-02"]),
        ([Seen("a", host="gpu"), Seen("b", host="gpu")], ["gpu", "gpu-01"]),
    ],
)
def test_names_are_numbers_in_the_order_of_ids_or_hosts(alive: list[Seen], names: list[str]) -> None:
    assert [event.node for event in newly_seen(state(nodes=0), alive, AT)] == names
