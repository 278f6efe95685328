"""`levelfield.load`: a report in Python, from each of its forms."""

import shutil
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import levelfield
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.report.export import TABLES, columns_of
from tests.share.evidence import leave, small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leave(small(), tmp_path_factory.mktemp("loaded") / "run")


def test_all_forms_of_a_report_hold_the_same(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "report.html", tmp_path / "sent.html")
    whole = levelfield.load(str(folder))
    for form in (folder / "report.html", tmp_path / "sent.html", files.write(small(), tmp_path), tmp_path):
        found = levelfield.load(form)
        assert found.run == whole.run == small()
        assert found.analysis == whole.analysis


@pytest.mark.parametrize("table", TABLES)
def test_both_kinds_of_data_frames_hold_the_rows(folder: Path, table: str) -> None:
    report = levelfield.load(folder)
    rows, pandas, polars = report.rows(table), report.to_pandas(table), report.to_polars(table)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert list(pandas.columns) == polars.columns == list(columns_of(table))
    assert len(pandas) == len(polars) == len(rows) > 0
    for name in columns_of(table):
        wanted = [row[name] for row in rows]
        assert [None if pd.isna(value) else value for value in pandas[name]] == wanted
        assert polars[name].to_list() == wanted


def test_there_is_no_such_table(folder: Path) -> None:
    with pytest.raises(LevelfieldError, match="results, launches, windows, calls"):
        levelfield.load(folder).to_pandas("rows")


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(LevelfieldError):
        levelfield.load(tmp_path)
