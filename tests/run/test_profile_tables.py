"""A profile as a table, JSON and CSV: the same columns for all, and nothing in it that speaks to a terminal."""

import csv
import io

import pytest
from rich.console import Console

from levelfield.backends.profiling.operators import Operator
from levelfield.report.export import write_csv
from levelfield.run.profile_tables import COLUMNS, as_rows, rows, show
from tests.run.explained import ID, explained, profiled

HOSTILE = "\x1b]0;owned\x07[bold]Conv[/] =HYPERLINK(1)\n\x9b31m"


def printed(*operators: Operator, by_layer: bool = False, top: int = 15, width: int = 160) -> str:
    stream = io.StringIO()
    show(explained(*operators), Console(file=stream, width=width), by_layer=by_layer, top=top)
    return stream.getvalue()


@pytest.mark.parametrize("by_layer", [False, True])
def test_names_from_a_trace_are_data(by_layer: bool) -> None:
    text = printed(Operator(HOSTILE, HOSTILE, 4, 1.0), by_layer=by_layer)
    assert not [letter for letter in text if letter != "\n" and (ord(letter) < 32 or 127 <= ord(letter) < 160)]
    assert "[bold]Conv[/]" in text


def test_csv_has_a_row_for_each_and_no_formula() -> None:
    stream = io.StringIO()
    write_csv(stream, COLUMNS, as_rows([explained(Operator("=1+1", "@x", 4, 5.0)), explained()], by_layer=True))
    first, *rest = csv.DictReader(io.StringIO(stream.getvalue()))
    assert (first["operator"], first["layer"], first["result"]) == ("'=1+1", "'@x", ID)
    assert [row["layer"] for row in rest] == ["stem", "head", "relu"]


def test_kinds_are_summed() -> None:
    conv, relu = rows(profiled(), by_layer=False)
    assert (conv.operator, conv.layer, conv.calls) == ("Conv", "", 2)
    assert [conv.self_us, conv.share, conv.cumulative] == pytest.approx([9000, 0.9, 0.9])
    assert (relu.operator, relu.calls) == ("Relu", 2)
    assert relu.cumulative == pytest.approx(1.0)
