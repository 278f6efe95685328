"""Tables of rendered records: the rows and columns that a page asks for, and never an empty table."""

import msgspec
import pytest

from docs.site import figures
from studies import default_runs
from tests.records_builder import make_run

ERRORS = "rigor-2026-11-21"


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_rows_and_columns_that_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    figures.table(ERRORS, drop=["groups"], only={"rule": ["bench, 5 launches"]})
    head, line, row = printed(capsys)
    assert head.startswith("| rule | A/A called different |")
    assert "groups" not in head
    assert row.startswith("| bench, 5 launches | 0 of 102 (0.0–3.6 %) |")
    assert head.count("|") == line.count("|") == row.count("|")


def test_the_first_section_of_a_record_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    figures.table("peers-2026-11-26", "Reported median over a bare loop's")
    assert len(printed(capsys)) == 9


def test_a_row_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no such row"):
        figures.table(ERRORS, only={"rule": ["bench, 4 launches"]})


def test_goals_of_runs_at_different_hours(capsys: pytest.CaptureFixture[str]) -> None:
    figures.goals()
    head, _, time, *_, record = printed(capsys)
    assert head.startswith("| goal | limit | ")
    assert time.startswith("| time | ≤ 6 min | ")
    assert record == "Record: `reports/trials/default-runs.json`."


def test_goals_that_are_met(capsys: pytest.CaptureFixture[str]) -> None:
    started, finished = "2026-11-27T10:00:00Z", "2026-11-27T10:05:00Z"
    run = make_run(models=("mlp",), scenarios=("latency",), noise_scale=0.0)
    figures.goals([default_runs.seen(msgspec.structs.replace(run, started=started, finished=finished))])
    rows = printed(capsys)
    assert "| time | ≤ 6 min | 5 min |" in rows
    assert "Met in every run: 5 of 5 goals." in rows
    assert not any(row.startswith("The best arm") for row in rows), "one run shows nothing of that"


def test_goals_over_runs_of_which_one_lacks_cases(capsys: pytest.CaptureFixture[str]) -> None:
    both = make_run(models=("mlp", "resnet50"), scenarios=("latency",))
    one = make_run(models=("resnet50",), scenarios=("latency",), backends=("jax", "torch"))
    runs = [default_runs.seen(run) for run in (both, one)]
    busy = msgspec.structs.replace(runs[1], calm=0.1)
    figures.goals([*runs, busy])
    rows = printed(capsys)
    assert rows[0] == "| goal | limit | calm hours, 2 runs | busy hours, 1 run |"
    by_goal = {row.split(" | ")[0].removeprefix("| "): row for row in rows}
    assert by_goal["lead: MLP, latency, batch 1"].endswith("(1 of 2 runs) | – |")
    assert "The best arm is the same, or not separated, in all runs: 0 of 1 case." in rows
