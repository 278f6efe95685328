"""The matrix of faults finds what it looks for; and one fault of it, done for real."""

from pathlib import Path

import docker
import msgspec
import pytest

from levelfield.record.journal import TurnTaken
from levelfield.record.schema import Run
from tests.faults import harm
from tests.faults.judging import differences
from tests.faults.place import Place, unbroken
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
