"""The corpus of damaged and hostile files: one clear sentence each, from the reader and from the command."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import files, page
from tests.commands import one_clear_sentence
from tests.commands import run as run_command
from tests.record import corpus
from tests.records_builder import kept

NAMES = sorted(path.name for path in corpus.FOLDER.iterdir())


def test_the_corpus_is_what_makes_it() -> None:
    assert dict(corpus.make()) == {path.name: path.read_bytes() for path in corpus.FOLDER.iterdir()}


@pytest.mark.parametrize("name", NAMES)
def test_each_is_one_sentence(name: str) -> None:
    path = corpus.FOLDER / name
    with pytest.raises(LevelfieldError) as caught:
        files.read(path)
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith(str(path))
    assert caught.value.message.endswith(".")
    assert caught.value.fix
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 400


def test_the_whole_record_that_they_come_from_is_one(tmp_path: Path) -> None:
    files.write(corpus.small(), tmp_path)
    assert files.read(tmp_path) == corpus.small()


@pytest.mark.parametrize("name", ["truncated.json", "a-case-twice.json"])
@pytest.mark.parametrize("command", ["report", "compare"])
def test_the_command_says_it_too(tmp_path: Path, name: str, command: str) -> None:
    folder = tmp_path / "other"
    kept(corpus.small(), folder)
    words = [corpus.FOLDER / name, *([folder] if command == "compare" else [])]
    one_clear_sentence(run_command(command, *words, folder=tmp_path), name)


def test_an_array_of_a_thousand_million_elements_is_not_read(tmp_path: Path) -> None:
    """Two gigabytes of zeros and commas; the file has holes, so that the disk need not hold them."""
    path = tmp_path / "run.json"
    with path.open("wb") as stream:
        stream.write(b'{"schema":1,"blocks":[0,')
        stream.truncate(2_000_000_000)
    with pytest.raises(LevelfieldError, match=f"longer than {page.MAX_BYTES} bytes"):
        files.read(path)


@pytest.mark.parametrize(("limit", "item"), [("MAX_VALUES", b"0,"), ("MAX_OBJECTS", b"{},")])
def test_a_file_within_the_bytes_may_hold_too_much(monkeypatch: pytest.MonkeyPatch, limit: str, item: bytes) -> None:
    monkeypatch.setattr(files, limit, 1000)
    with pytest.raises(LevelfieldError, match=r"more than .*1,000"):
        files.decode(b'{"schema":1,"blocks":[' + item * 1000 + b"0]}", "run.json")
