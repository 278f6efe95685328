"""The command as people type it."""

import re
from pathlib import Path

import msgspec

from levelfield.record import files
from tests.analysis.many import LATENCY, name, small_run, summaries, write_run, write_summaries
from tests.commands import call, one_clear_sentence


def write_year(reports: Path, template: Path) -> None:
    """Write forty runs, of which the last fifteen are 13 % slower."""
    reports.mkdir(exist_ok=True)
    made = summaries(write_run(small_run(), template), 40, level=lambda day: 1.13 if day >= 25 else 1.0)
    write_summaries(made, reports)


def test_a_trend_with_its_change_and_what_changed(tmp_path: Path) -> None:
    write_year(tmp_path / "year", tmp_path / "run")
    command = call("history", "onnxruntime/mlp/latency", "--reports", "year", folder=tmp_path, code=0)
    first = command.out.strip().splitlines()[0]
    assert first.startswith(LATENCY)
    assert "% slower since 2026-01-30 (15 runs)" in first
    assert "image onnxruntime" in command.out
    assert re.search(r"was +is *\n", command.out)
    assert re.search(r"image onnxruntime .* 1\.40\S* +1\.41", command.out)
    assert name(39) in command.out
    assert "changes under 2.0\u00a0% are not called" in command.out


def test_no_folder_and_no_runs(tmp_path: Path) -> None:
    one_clear_sentence(call("history", "--reports", "nothing", folder=tmp_path), "There is no folder nothing")
    (tmp_path / "reports").mkdir()
    assert "holds no runs" in call("history", folder=tmp_path).out
    one_clear_sentence(call("history", "mlp", folder=tmp_path), "holds no runs")


def test_folders_that_were_copied_are_read_and_broken_ones_named(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    made = write_run(small_run(), reports / "20261121-101500-standard", summarised=False)
    (reports / "broken").mkdir()
    (reports / "broken" / files.NAME).write_text("{}", encoding="utf-8")
    command = call("history", "mlp/latency", folder=tmp_path, code=0)
    assert "broken is left out: " in command.out
    assert f"analysing {made.id}" in command.out


def test_a_run_that_is_no_result_is_shown_when_asked(tmp_path: Path) -> None:
    write_run(small_run(labels=("smoke",)), tmp_path / "reports" / "20261121-101500-standard")
    one_clear_sentence(call("history", "mlp/latency", folder=tmp_path), "labelled", "--labelled")
    assert "labelled smoke" in call("history", "mlp/latency", "--labelled", folder=tmp_path).out


# ---- strangers -------------------------------------------------------------------------------------------------------

PAYLOAD = "[red]x[/] \x1b[31m\x07 [link=file:///]y[/link]"


def test_texts_of_strangers_are_printed_as_they_stand(tmp_path: Path) -> None:
    template = write_run(small_run(), tmp_path / "template" / "run")
    given = summaries(template, 20, level=lambda day: 1.13 if day >= 10 else 1.0)
    hostile = [
        msgspec.structs.replace(
            one,
            id=f"{one.id}{PAYLOAD}",
            machine_title=PAYLOAD,
            environment={**one.environment, PAYLOAD: {PAYLOAD: f"{index >= 10}{PAYLOAD}"}},
            results=tuple(msgspec.structs.replace(result, id=f"{result.id}{PAYLOAD}") for result in one.results),
        )
        for index, one in enumerate(given)
    ]
    reports = tmp_path / "reports"
    reports.mkdir()
    write_summaries(hostile, reports)
    command = call("history", LATENCY, "--reports", reports, folder=tmp_path, code=0)
    assert "13\u00a0% slower" in command.out
    assert "\x1b" not in command.out
    assert "\x07" not in command.out
    assert command.out.count("[red]x[/]") > 20
    unknown = call("history", "nothing", "--reports", reports, folder=tmp_path, code=2)
    assert "\x1b" not in unknown.err


# ---- bars and lines --------------------------------------------------------------------------------------------------
