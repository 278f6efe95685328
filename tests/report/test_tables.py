"""One model of a table: a column is declared once, and is then in every format."""

import csv
import io
from functools import partial

import pytest

from levelfield.analysis import analyse
from levelfield.analysis.types import Estimate
from levelfield.record.schema import Absent
from levelfield.report import html, results, tables, terminal
from levelfield.report.export import columns_of, rows, write_csv
from levelfield.report.results import Timed
from levelfield.report.tables import Cell, Column
from levelfield.report.units import NBSP, Scale
from tests.records_builder import make_run
from tests.report.plain import printed

SLOWEST: Column[Timed] = Column(
    "Slowest launch", lambda it: max(it.row.launch_medians_ns), "time", files=("slowest_launch_ns",)
)


def test_a_column_that_is_added_is_in_every_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "TIMED", (*results.TIMED, SLOWEST))
    run = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency",))
    analysis = analyse(run)
    (block,) = analysis.timed
    slowest = max(block.rows[0].launch_medians_ns)
    table = results.timed(block, analysis.timed)
    written = table.lines[0].cells[-1].text
    assert table.heads[-1].text == f"Slowest launch,{NBSP}µs"
    page = html.render(run, analysis)
    assert f"Slowest launch,{NBSP}µs</th>" in page
    assert f'<td class="num">{written}</td></tr>' in page
    assert "slowest" in printed(partial(terminal.show, run, analysis), 160)
    heading, _, first, *_ = tables.in_markdown(table)
    assert heading.endswith("| slowest launch, µs |")
    assert first.endswith(f"| {written} |")
    stream = io.StringIO()
    write_csv(stream, columns_of("results"), rows("results", run, analysis))
    read = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert float(read[0]["slowest_launch_ns"]) in {max(row.launch_medians_ns) for row in block.rows}
    assert slowest in {float(row["slowest_launch_ns"]) for row in read}


@pytest.mark.parametrize(
    ("value", "kind", "unit", "line"),
    [
        (Estimate(2e6, 1e6, 3e6), "time", None, f"2.00{NBSP}ms (1.00–3.00)"),
        (Estimate(2e6, 1e6, 3e6), "time", Scale("µs", 1e3), "2\u202f000 (1\u202f000–3\u202f000)"),
        (2048, "bytes", None, f"2.00{NBSP}KiB"),
        (12_345, "number", None, "12\u202f345"),
        ((1e6, 2e6), "time", Scale("ms", 1e6), "1.00 · 2.00"),
        (None, "time", None, "–"),
        (Absent("why"), "time", None, "not known"),
        ("text", "time", Scale("ms", 1e6), "text"),
        (Cell("21.3", "20.9–21.8"), "time", None, "21.3 (20.9–21.8)"),
    ],
)
def test_a_value_is_written_by_its_kind(value: tables.Shown, kind: tables.Kind, unit: Scale | None, line: str) -> None:
    assert tables.cell(value, kind, unit).line == line


def test_a_narrow_table_has_neither_wide_columns_nor_those_of_pages() -> None:
    shown: tuple[Column[int], ...] = (
        Column("All", str), Column("Wide", str, wide=True), Column("Page", str, only="page"),
        Column("Text", str, only="text"), Column("Markdown", str, only="markdown"),
        Column("Narrow", str, only="narrow"), Column("File", str, only="files"),
    )  # fmt: skip
    table = tables.make("A table", shown, [1])

    def headings(found: tables.Table) -> list[str]:
        return [head.text for head in found.heads]

    assert headings(table.shown("page")) == ["All", "Wide", "Page"]
    assert headings(table.shown("text")) == ["All", "Wide", "Text"]
    assert headings(table.shown("text", narrow=True)) == ["All", "Text", "Narrow"]
    assert headings(table.shown("markdown")) == ["All", "Wide", "Text", "Markdown"]
