"""How far a fleet is follows from its journal."""

import pytest

from suite.errors import LevelfieldError
from suite.fleet.run.events import AttemptBegun, AttemptFailed, NodeDone, Resumed
from suite.fleet.run.state import fold
from suite.record.append_only import Lost
from tests.fleet.run.fleets import AT, begun, seen, state

FAILED = AttemptFailed(AT, "node-01", "It was lost.")


def test_an_attempt_that_the_head_did_not_survive_costs_no_try() -> None:
    node = state(AttemptBegun(AT, "node-01")).nodes["node-01"]
    assert (node.attempts, node.failures, node.done) == (1, 0, None)


def test_resuming_gives_tries_anew_and_keeps_runs() -> None:
    found = state(
        NodeDone(AT, "node-02", "run-2", "0" * 64), FAILED, AttemptFailed(AT, "node-03", "x", final=True), Resumed(AT)
    )
    assert [node.failures for node in found.nodes.values()] == [0, 0, 0]
    assert not found.nodes["node-03"].refused
    assert found.nodes["node-02"].done is not None
    assert found.nodes["node-01"].reason == "It was lost."


def test_the_runs_of_others_are_not_ones_own() -> None:
    found = state(NodeDone(AT, "node-01", "run-1", ""), NodeDone(AT, "node-02", "run-2", ""))
    assert found.runs_of_others("node-02") == {"run-1"}
    assert found.runs_of_others("node-03") == {"run-1", "run-2"}


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
