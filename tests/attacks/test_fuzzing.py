"""Everything that reads a stranger's file is given changed ones, and answers or refuses each within its time."""

import contextlib
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from tests.attacks import fuzzing, readers


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    readers.numpy_is_ready()
    return tmp_path


@pytest.mark.parametrize("name", readers.READERS)
def test_what_cases_are_made_from_is_read(cache: Path, tmp_path: Path, name: str) -> None:
    """What a statement or a plan names need not be there; the rest of the corpus is taken."""
    refusals = (LevelfieldError,) if name in ("statement", "plan", "data") else ()
    assert readers.seeds(name)
    for number, content in enumerate(readers.seeds(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with contextlib.suppress(*refusals):
            readers.READERS[name].read(content, folder)


@pytest.mark.parametrize("numbers", [range(150), pytest.param(range(150, 20_000), marks=pytest.mark.extended)])
def test_no_case_fails(cache: Path, numbers: range) -> None:
    for number in numbers:
        name, content = fuzzing.case(number, {})
        failure = fuzzing.attempt(name, content, cache)
        assert not failure, f"case {number}, {name}: {failure}"
