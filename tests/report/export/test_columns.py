"""Columns of the tables that a record is written as."""

import pytest

from levelfield.report.export.tables import RUN, TABLES, columns_of


@pytest.mark.parametrize("table", TABLES)
def test_every_table_begins_with_what_names_the_run_and_the_arm(table: str) -> None:
    assert columns_of(table)[: len(RUN)] == RUN
    assert len(set(columns_of(table))) == len(columns_of(table))
