"""The matrix of faults finds what it looks for; and one fault of it, done for real."""

from pathlib import Path

import docker
import msgspec
import pytest

from levelfield.record.journal import TurnTaken
from levelfield.record.schema import Run
from tests.faults import harm, matrix
from tests.faults.__main__ import Record, Repeated, repeated, table
from tests.faults.judging import differences
from tests.faults.place import Place, Result, unbroken
from tests.records_builder import first_generation, make_run


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


def test_what_was_repeated_is_no_difference(run: Run) -> None:
    cut = first_generation(run, complete=False)
    first = cut.blocks[0]
    again = msgspec.structs.replace(run.blocks[0].generations[0], index=len(first.generations), seed=99)
    block = msgspec.structs.replace(first, generations=(*first.generations, again))
    resumed = msgspec.structs.replace(cut, blocks=(block, *cut.blocks[1:]), finished="2026-11-22T00:00:00Z")
    unbroken = msgspec.structs.replace(run, finished="2026-11-22T00:00:00Z")
    assert differences(unbroken, resumed) == []
    assert differences(unbroken, unbroken) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 99}, "generation 0 has another schedule"),
        ({"complete": False}, "complete generations"),
        ({"launches": ()}, "launches of generation 0 differ"),
        ({"rounds": ()}, "arms of the rounds of generation 0 differ"),
    ],
)
def test_a_difference_is_named(run: Run, change: dict[str, object], says: str) -> None:
    assert any(says in each for each in differences(run, first_generation(run, **change)))


def test_the_matrix_counts_what_failed() -> None:
    good = Result("kill", "1 of 2: Started", -9, "", 3, 0, 1, 0, (), 1.0)
    bad = msgspec.structs.replace(good, lost=2, left=1, differences=("settings differ",))
    assert good.holds
    assert not bad.holds
    assert "| kill | 2 | 6 | 2 | 2 | 1 | 1 |  |" in table([good, bad])


def test_a_fault_that_cannot_be_done_does_not_end_the_matrix(tmp_path: Path) -> None:
    def disk_full(place: Place) -> Result:
        raise OSError(f"{place.folder.name} is no device")

    result = matrix.done(disk_full, Place(tmp_path, docker.DockerClient("unix:///nobody/is/here.sock", "1.41")))
    assert not result.holds
    assert (result.fault, result.differences) == (
        "disk full",
        (f"it was not done: OSError {tmp_path.name} is no device",),
    )


def test_what_is_done_again_replaces_what_was_done_before() -> None:
    good = Result("kill", "1 of 2: Started", -9, "", 3, 0, 1, 0, (), 1.0)
    bad = msgspec.structs.replace(good, fault="starved", differences=("it did not fail",))
    mended = msgspec.structs.replace(bad, differences=())
    before = Record(1, "2026-11-22T00:00:00Z", 1.0, "0.1", "0" * 64, (bad, bad, good))
    again = Record(1, "2026-11-23T00:00:00Z", 1.0, "0.1", "1" * 64, (mended,))
    found = repeated(before, again, "it was too gentle")
    assert found.results == (mended, good)
    assert (found.started, found.tool_sha256) == (before.started, before.tool_sha256)
    assert found.repeated == (Repeated("starved", again.started, again.tool_sha256, "it was too gentle"),)


@pytest.mark.docker
def test_a_run_killed_within_the_write_of_an_event(engine: docker.DockerClient, tmp_path: Path) -> None:
    """One case of `nox -s faults`, in its second generation: the journal ends in half a line."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    tmp_path.chmod(0o755)
    whole = unbroken(Place(tmp_path / "whole", engine))
    number = [place for place, event in enumerate(whole[1], start=1) if isinstance(event, TurnTaken)][-2]
    result = harm.killed(Place(tmp_path / "cut", engine), whole, number, torn=True)
    assert result.holds, result
    assert result.kept > 0
