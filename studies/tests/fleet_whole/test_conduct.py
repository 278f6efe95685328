"""What is read of a fleet from outside: its nodes' names, and what a run had written when it was cut off."""

from pathlib import Path

import pytest

from studies.fleet_whole.conduct import Fleet
from suite.errors import LevelfieldError
from suite.fleet.run import cluster, local_cluster, store
from suite.record.files import JOURNAL
from suite.record.journal import GenerationBegun, Journal, Resumed, RoundDone
from tests.fleet.run.fleets import begun, seen


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A fleet of one node, the second one of this machine."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    found = Fleet("night", tmp_path, "127.0.0.1:6379")
    store.create(begun(name="night"), found.reports)
    with store.Journal(found.folder / JOURNAL) as journal:
        journal.write(seen(1, machine=cluster.machine_of(local_cluster.name_of(2))))
    return found


def leave(fleet: Fleet, cache: Path, run: str) -> None:
    """Leave a journal on the node: two rounds, then the run is resumed and makes another one."""
    folder = cache / "fleets" / fleet.state.begun.fleet / "node-01" / "0" / "reports" / run
    folder.mkdir(parents=True)
    with Journal(folder / JOURNAL) as journal:
        journal.write(GenerationBegun("case", 0, 1))
        journal.write(RoundDone("case", 0, 0))
        journal.write(RoundDone("case", 0, 1))
        journal.write(Resumed("2026-11-25T02:00:00Z"))
        journal.write(RoundDone("case", 1, 0))


def test_a_node_is_known_by_its_name_in_ray(fleet: Fleet) -> None:
    assert fleet.node_of(2) == "node-01"
    assert fleet.node_of(1) == ""


def test_only_what_was_written_before_a_run_was_resumed_had_been_cut_off(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.rounds("node-01") == 0
    leave(fleet, tmp_path / "cache", "run")
    assert fleet.rounds("node-01") == 2
    assert len(fleet.cut_off("node-01")) == 3


def test_a_run_that_was_begun_anew_is_said(fleet: Fleet, tmp_path: Path) -> None:
    for run in ("one", "two"):
        leave(fleet, tmp_path / "cache", run)
    with pytest.raises(LevelfieldError, match="node-01 has 2 runs under way"):
        fleet.cut_off("node-01")
