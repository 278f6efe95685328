"""Tables of rendered records: the rows and columns that a page asks for, and never an empty table."""

import pytest

from docs.site import figures

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
