"""Whatever a record's values make of a computation is one sentence, and never looks like a verdict."""

import shutil
from pathlib import Path

import click
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from levelfield import analysis
from levelfield.analysis import guarded
from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from levelfield.record import bounds, files
from levelfield.share import statement
from levelfield.statistics.arrays import InsufficientData, UnusableData
from tests.records_builder import kept
from tests.share.evidence import leave, small

FAILURES = (
    ArithmeticError("x"), OverflowError("x"), LookupError("x"), KeyError("x"), ValueError("x"), RecursionError("x"),
    StopIteration(), MemoryError(), InsufficientData("x"), UnusableData("x"),
)  # fmt: skip


def names(error: BaseException) -> str:
    return type(error).__name__


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder without its statement, and another record: to be copied, not changed."""
    folder = tmp_path_factory.mktemp("reported")
    (leave(small(), folder / "RUN") / statement.NAME).unlink()
    kept(msgspec.structs.replace(small(), id="other"), folder / "OTHER")
    return folder


@pytest.mark.parametrize("failure", FAILURES, ids=names)
def test_a_failure_is_one_sentence(failure: Exception) -> None:
    with pytest.raises(LevelfieldError) as caught, guarded.computing("run.json"):
        raise failure
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith("run.json holds values that no measurement gives: ")
    assert caught.value.message.endswith(".")
    assert "\n" not in str(caught.value)


def test_a_failure_may_quote_the_record_at_any_length() -> None:
    with pytest.raises(LevelfieldError) as caught, guarded.computing("run.json"):
        raise ValueError("a\nline " * 10_000)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_an_answer_of_ours_keeps_its_exit_code() -> None:
    with pytest.raises(LevelfieldError) as caught, guarded.computing("run.json"):
        raise LevelfieldError("It was changed.", exit_code=1)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("values", [(1e308, 1e308), (np.inf, -np.inf)])
def test_an_array_that_overflows_is_a_sentence_and_no_warning(values: tuple[float, float]) -> None:
    with pytest.raises(LevelfieldError), guarded.computing("run.json"):
        np.sum(np.asarray(values))


def test_a_defect_of_ours_is_not_blamed_on_the_record() -> None:
    with pytest.raises(TypeError), guarded.computing("run.json"):
        raise TypeError("no such argument")


@pytest.mark.parametrize(
    "words",
    [
        ("report", "RUN"), ("report", "RUN", "--card", "cards"), ("export", "RUN"), ("verify", "RUN"),
        ("reproduce", "RUN", "--dry-run"),
        ("compare", "RUN", "OTHER"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_command_that_reads_a_record_is_behind_it(
    reported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    shutil.copytree(reported, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def fails(run: object) -> None:
        raise ArithmeticError("x")

    monkeypatch.setattr(analysis, "analyse_blocks", fails)
    done = CliRunner().invoke(cli, list(words), standalone_mode=False)
    assert not isinstance(done.exception, click.ClickException)
    assert isinstance(done.exception, LevelfieldError)
    assert done.exception.exit_code == 2
    assert "holds values that no measurement gives" in done.exception.message


def test_a_shape_that_no_run_has_is_refused_by_every_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(small(), tmp_path)
    assert guarded.read(tmp_path).run == small()
    monkeypatch.setattr(bounds, "MAX_WINDOWS", 45)  # it has as many, and launches beside them
    with pytest.raises(LevelfieldError, match="and a run has no more than 45"):
        guarded.read(tmp_path)
