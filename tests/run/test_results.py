"""The end of a command: the page beside the record, the answer, and what is missing said in one line."""

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from levelfield import analysis
from levelfield.analysis import summaries
from levelfield.compare.types import Comparison
from levelfield.errors import LevelfieldError
from levelfield.record import files, warnings
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.run.results import show_result
from levelfield.share import statement
from tests.share.evidence import broken, check, small


def shown(
    run: Run, folder: Path, *, measured: bool, comparison: Comparison | None = None, sign: Path | None = None
) -> str:
    """Show the result of a run, whose record is there before where it was not just measured."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / REPORT if measured else files.write(run, folder)
    stream = io.StringIO()
    console = Console(file=stream, width=160)
    show_result(record, run, analysis.analyse(run), console, measured=measured, comparison=comparison, sign=sign)
    return stream.getvalue()


def test_a_run_that_was_measured_has_a_page_a_statement_and_a_place_in_the_history(tmp_path: Path) -> None:
    run = small()
    folder = tmp_path / run.id
    folder.mkdir()
    (folder / files.JOURNAL).touch()
    text = shown(run, folder, measured=True)
    assert not (folder / files.JOURNAL).exists()
    assert files.read(folder) == run
    assert not (folder / files.NAME).exists()
    assert f"Report: {folder / REPORT}" in text
    assert broken(check(folder)) == ""
    assert broken(check(folder / REPORT)) == ""
    assert (folder / statement.NAME).is_file()
    assert not (folder / statement.SIGNATURE).exists()
    kept = summaries.kept(folder)
    assert kept is not None
    assert kept.id == run.id


def test_a_run_whose_budget_was_too_short_says_how_to_go_on(tmp_path: Path) -> None:
    spent = warnings.budget_spent(60, 5, 1, needed_s=55, missing_s=20, before_s=0)
    text = shown(msgspec.structs.replace(small(), warnings=(spent,)), tmp_path / "a run", measured=True)
    assert f"About --budget 2m would be enough, or --budget 1m with --resume 'a run' --reports {tmp_path};" in text


@pytest.mark.parametrize(("typed", "says"), [("reproduce", "bench"), ("ab", "ab jax onnxruntime")])
def test_other_commands_name_the_one_that_goes_on(tmp_path: Path, typed: str, says: str) -> None:
    spent = warnings.budget_spent(60, 5, 1, needed_s=55, missing_s=20, before_s=0)
    run = msgspec.structs.replace(small(), warnings=(spent,), command=("levelfield", typed, "what"))
    assert f"with levelfield {says} --resume run " in shown(run, tmp_path / "run", measured=True)


def test_what_was_measured_is_kept_where_it_cannot_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "render", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        shown(small(), tmp_path, measured=True)
    assert files.read(tmp_path) == small()


def test_a_page_that_is_made_again_adds_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    assert f"Report: {folder / REPORT}" in shown(small(), folder, measured=False)
    assert sorted(each.name for each in folder.iterdir()) == sorted([files.NAME, REPORT])
    assert [each.name for each in tmp_path.iterdir()] == ["given"], "it is in nobody's history"


@pytest.mark.parametrize("name", ["other.json", "report.html", "run"])
def test_a_record_in_json_is_never_replaced_by_its_page(name: str, tmp_path: Path) -> None:
    record = tmp_path / name
    record.write_bytes(files.encode(small()))
    for again in (record, record.with_name(f"{name}.html"), record.with_name(f"{name}.html")):
        show_result(again, small(), analysis.analyse(small()), Console(file=io.StringIO()), measured=False)
        assert record.read_bytes() == files.encode(small())
        assert sorted(each.name for each in tmp_path.iterdir()) == [name, f"{name}.html"]
    assert broken(check(tmp_path / f"{name}.html")) == ""


def test_a_key_that_does_not_sign_costs_a_measured_run_its_signature_alone(tmp_path: Path) -> None:
    no_key = tmp_path / "key"
    no_key.write_text("no key")
    text = shown(small(), tmp_path / "run", measured=True, sign=no_key)
    assert "Its statement is not all it could be: " in text
    assert broken(check(tmp_path / "run")) == ""
    with pytest.raises(LevelfieldError):
        shown(small(), tmp_path / "other", measured=False, sign=no_key)
