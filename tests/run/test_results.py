"""The end of a command: the page beside the record, the answer, and what is missing said in one line."""

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from levelfield import analysis
from levelfield.analysis import summaries
from levelfield.compare.ab import compare_arms
from levelfield.compare.phrases import first_line
from levelfield.compare.types import Comparison, Gate
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.run.results import REPORT, show_result
from levelfield.share import statement
from tests.compare import pairs
from tests.share.evidence import broken, check, key, small


def shown(
    run: Run,
    folder: Path,
    *,
    measured: bool,
    comparison: Comparison | None = None,
    sign: Path | None = None,
) -> str:
    """Write the record of a run, show its result, and return what was printed."""
    folder.mkdir(parents=True, exist_ok=True)
    record = files.write(run, folder)
    stream = io.StringIO()
    console = Console(file=stream, width=160)
    show_result(record, run, analysis.analyse(run), console, measured=measured, comparison=comparison, sign=sign)
    return stream.getvalue()


def test_a_run_that_was_measured_has_a_page_a_statement_and_a_place_in_the_history(tmp_path: Path) -> None:
    run = small()
    folder = tmp_path / run.id
    text = shown(run, folder, measured=True)
    assert f"Report: {folder / REPORT}" in text
    assert f"Record: {folder / files.NAME}" in text
    assert broken(check(folder)) == ""
    assert broken(check(folder / REPORT)) == ""
    assert (folder / statement.NAME).is_file()
    assert not (folder / statement.SIGNATURE).exists()
    kept = summaries.kept(folder)
    assert kept is not None
    assert kept.id == run.id


def test_a_page_that_is_made_again_adds_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    text = shown(small(), folder, measured=False)
    assert f"Report: {folder / REPORT}" in text
    assert "Record: " not in text
    assert sorted(each.name for each in folder.iterdir()) == sorted([files.NAME, REPORT])
    assert [each.name for each in tmp_path.iterdir()] == ["given"], "it is in nobody's history"


def test_a_signed_run_is_verified_by_its_page_alone(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    shown(small(), tmp_path / "run", measured=True, sign=ada)
    assert check(tmp_path / "run" / REPORT, signers).verdict == "verified"


def test_a_key_that_does_not_sign_costs_a_measured_run_its_signature_alone(tmp_path: Path) -> None:
    no_key = tmp_path / "key"
    no_key.write_text("no key")
    text = shown(small(), tmp_path / "run", measured=True, sign=no_key)
    assert "Its statement is not all it could be: " in text
    assert broken(check(tmp_path / "run")) == ""
    with pytest.raises(LevelfieldError):
        shown(small(), tmp_path / "other", measured=False, sign=no_key)


def test_a_history_that_cannot_be_written_costs_the_run_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "run" / summaries.NAME).mkdir(parents=True)
    text = shown(small(), tmp_path / "run", measured=True)
    assert "This run is not in the history yet: " in text
    assert broken(check(tmp_path / "run")) == ""


def test_of_two_arms_the_comparison_is_the_answer_and_stands_in_the_page(tmp_path: Path) -> None:
    run = pairs.run(1.5, models=("mlp",), scenarios=("latency",), rounds=2, max_calls=12)
    comparison = compare_arms(run, Gate(), "0" * 64)
    text = shown(run, tmp_path / "run", measured=False, comparison=comparison)
    assert text.startswith(first_line(comparison))
    alone = shown(run, tmp_path / "bench", measured=False)
    assert first_line(comparison) not in alone
    page = (tmp_path / "run" / REPORT).read_text(encoding="utf-8")
    assert len(page) > len((tmp_path / "bench" / REPORT).read_text(encoding="utf-8"))


def test_a_folder_named_in_markup_is_printed_as_it_is(tmp_path: Path) -> None:
    run = msgspec.structs.replace(small(), id="[red]x")
    text = shown(run, tmp_path / "[red]x[bold]", measured=False)
    assert f"Report: {tmp_path / '[red]x[bold]' / REPORT}" in text
