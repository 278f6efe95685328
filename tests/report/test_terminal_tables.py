import io

from rich.console import Console
from rich.table import Table

from levelfield.report.terminal_tables import Identifier, lines


def test_a_name_is_broken_between_its_parts_only() -> None:
    assert lines("tensorflow@2.18.1+frozen=on", 20) == ["tensorflow@2.18.1+", "frozen=on"]
    assert lines("onnxruntime/bert/latency/fp32", 17) == ["onnxruntime/bert/", "latency/fp32"]
    assert lines("toy, concurrent 2, output tokens", 18) == ["toy, concurrent 2,", "output tokens"]
    assert lines("tensorflow@2.18.1", 5) == ["tensorflow@", "2.18.1"]
    assert lines("keras-tensorflow+frozen=off", 12) == ["keras-", "tensorflow+", "frozen=off"]
    assert lines("torch@cuda", 10) == ["torch@cuda"]
    assert lines("", 5) == [""]


def test_a_column_gives_way_as_far_as_the_longest_part() -> None:
    out = io.StringIO()
    table = Table(box=None)
    table.add_column("arm")
    table.add_column("a long heading", no_wrap=True)
    table.add_row(Identifier("tensorflow@2.18.1+frozen=on[bold]"), "1.02")
    Console(file=out, width=42).print(table)
    assert "tensorflow@2.18.1+" in out.getvalue()
    assert "frozen=on[bold]" in out.getvalue()
