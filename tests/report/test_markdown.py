"""Tables and intervals as Markdown."""

from levelfield.report import units
from levelfield.report.markdown import interval, table


def test_columns_are_aligned_as_their_headings_ask() -> None:
    lines = list(table(("case", "ratio:"), [("mlp", "1.02"), ("bert", "")]))
    assert lines == ["| case | ratio |", "|---|---:|", "| mlp | 1.02 |", "| bert |  |"]


def test_an_interval_is_shown_where_there_is_one() -> None:
    assert interval(1.0, 0.9, 1.1, "{:.2f}".format, unit=" ms", to=" … ") == "1.00 ms (0.90 … 1.10)"
    assert interval(1.0, None, None, "{:.1f}".format) == "1.0"
    assert interval(None, 0.9, 1.1, "{:.1f}".format) == units.NO_VALUE
