"""Columns of the tables that a record is written as."""

import pytest

from levelfield.report.export.columns import COLUMNS, RUN


@pytest.mark.parametrize("table", COLUMNS)
def test_every_table_begins_with_what_names_the_run_and_the_arm(table: str) -> None:
    assert COLUMNS[table][: len(RUN)] == RUN
    assert len(set(COLUMNS[table])) == len(COLUMNS[table])
