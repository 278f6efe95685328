"""The fuzzer itself, and a few seconds of it: `nox -s fuzz` takes the rest."""

import contextlib
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from tests.attacks import fuzzing, guided, mutating, readers

CASES = 200


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", readers.READERS)
def test_what_cases_are_made_from_is_read(cache: Path, tmp_path: Path, name: str) -> None:
    """What a statement or a plan names need not be there; the rest of the corpus is taken."""
    refusals = (LevelfieldError,) if name in ("statement", "plan") else ()
    assert readers.seeds(name)
    for number, content in enumerate(readers.seeds(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with contextlib.suppress(*refusals):
            readers.READERS[name].read(content, folder)


def test_a_number_is_always_the_same_case() -> None:
    assert [fuzzing.case(number) for number in range(30)] == [fuzzing.case(number) for number in range(30)]
    assert len({fuzzing.case(number) for number in range(30)}) == 30
    later = fuzzing.case(7)
    for number in range(300):  # no case changes what later ones are made from
        fuzzing.case(number)
    assert fuzzing.case(7) == later
    assert mutating.OTHERS == (None, True, False, [], {}, [[]], [{}], {"type": "absent", "reason": "\x00"})


def test_no_case_fails(cache: Path) -> None:
    trial = fuzzing.Trial(cache)
    for number in range(CASES):
        trial.take(*fuzzing.case(number))
    found = trial.found()
    assert not found.failures
    assert sum(found.accepted.values()) + sum(found.refused.values()) == CASES
    assert set(found.accepted) | set(found.refused) == set(readers.READERS)
    assert 0 < found.slowest_s < fuzzing.SECONDS
    assert found.grown_bytes < fuzzing.BYTES
    assert not list(cache.iterdir()), "a case leaves nothing"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("raise RuntimeError('no\\nsense')", "RuntimeError: no sense"),
        ("raise LevelfieldError('two\\nlines')", "a refusal that is no sentence"),
        ("raise LevelfieldError('x', exit_code=3)", "a refusal that is no sentence"),
        ("import warnings; warnings.warn('x', RuntimeWarning)", "RuntimeWarning: x"),
        ("while True: pass", "_TooSlowError: It takes longer than 0.2 s"),
    ],
)
def test_what_is_no_answer_is_a_failure(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, monkeypatch: pytest.MonkeyPatch, what: str, said: str
) -> None:
    def read(content: bytes, folder: Path) -> None:
        exec(what, {"LevelfieldError": LevelfieldError})

    monkeypatch.setattr(readers, "READERS", {"record": readers.Reader(read, 1)})
    monkeypatch.setattr(fuzzing, "SECONDS", 0.2)
    keep = tmp_path_factory.mktemp("failures")
    trial = fuzzing.Trial(cache, keep)
    trial.take("record", b"content")
    (failure,) = trial.found().failures
    assert failure.reader == "record"
    assert failure.what.startswith(said)
    assert (keep / fuzzing.kept_as(failure)).read_bytes() == b"content"


def test_memory_is_bounded(cache: Path) -> None:
    """In a process of its own: what is refused to it stays refused."""
    import subprocess
    import sys

    from tests.commands import ROOT

    script = "from tests.attacks import fuzzing; fuzzing.limit_memory(); bytes(10**9)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr


@pytest.mark.extended
def test_cases_are_guided_by_what_they_reach(tmp_path: Path) -> None:
    """In a process of its own, which counts what each case reached and keeps what was new."""
    pytest.importorskip("atheris")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, content in enumerate(readers.seeds("reply")):
        (corpus / str(number)).write_bytes(content)
    result = guided.run(guided.Part("reply", 400, 1, str(corpus), str(tmp_path)))
    assert not isinstance(result, guided.Died), result.said
    found, reached = result
    assert sum(found.accepted.values()) == 400
    assert not found.failures
    assert reached.corpus >= len(readers.seeds("reply"))
    assert len(list(corpus.iterdir())) > len(readers.seeds("reply")), "nothing new was found and kept"


def test_a_part_whose_process_dies_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'Segmentation fault in a reader'\nexit 139\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    result = guided.run(guided.Part("reply", 1, 1, str(tmp_path), str(tmp_path)))
    assert result == guided.Died("Segmentation fault in a reader")
