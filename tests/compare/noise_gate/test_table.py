"""A gate as the terminal shows it."""

import io
from pathlib import Path

import msgspec
from rich.console import Console

from levelfield.compare.noise_gate import table
from levelfield.compare.noise_gate.file import NoiseGate, Without
from tests.compare.noise_gate.gates import derive, unchanged


def shown(gate: NoiseGate) -> str:
    stream = io.StringIO()
    table.show(gate, Console(file=stream, width=200, color_system=None))
    return " ".join(stream.getvalue().split())


def test_it_says_what_the_figures_mean(tmp_path: Path) -> None:
    gate = derive(unchanged(tmp_path))
    found = shown(gate)
    assert "in at most 1.0 % of comparisons without a change is any case called worse, 2 cases together" in found
    assert "The runs began within 4 days" in found
    assert "Two new runs, both above the limit, would find" in found
    assert all(case.id in found for case in gate.case)
    assert "Two new runs" not in shown(derive(tmp_path / "reports", runs_each=2))


def test_text_of_records_is_only_text(tmp_path: Path) -> None:
    gate = derive(unchanged(tmp_path))
    hostile = msgspec.structs.replace(
        gate, without=(Without("[red]a\x1b[2J", "[b]why"),), accepted=("[blink]\x9bKernel",)
    )
    found = shown(hostile)
    assert "No limit for [red]a" in found
    assert "[b]why" in found
    assert "\x1b" not in found
    assert "\x9b" not in found
