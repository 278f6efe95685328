"""The overhead trial's findings in words."""

import msgspec

from studies.commands import read
from studies.harness.record import Cell, Trial
from studies.harness.show import markdown, summary
from studies.tests.harness.cells import ARMS, EMPTY, cell, findings, generations
from suite.record.schema import Case
from tests.commands import ROOT


def test_the_worst_contrast_is_named() -> None:
    cells = [
        Cell(backend, Case("bert", "latency", "fp32", 1, 2), ARMS, generations(ratio), findings("bert", ratio))
        for backend, ratio in (("jax", 1.002), ("torch", 0.97), ("openvino", 1.02))
    ]
    text = summary(msgspec.structs.replace(EMPTY, cells=tuple(cells)))
    assert "In one process: 1 within, 2 outside; farthest from the other torch on bert: 0.970" in text


def test_the_committed_table_of_every_backend_follows_from_its_record() -> None:
    path = ROOT / "reports" / "trials" / "every-backend-2026-11-22.json"
    assert markdown(read(path, Trial)) == path.with_suffix(".md").read_text(encoding="utf-8")


def test_what_could_not_be_measured_is_a_row() -> None:
    lines = markdown(msgspec.structs.replace(EMPTY, cells=(cell(failure="it broke"),))).splitlines()
    assert lines[2].startswith("| resnet50 | jax | could not be measured |")
    assert lines[2].count("|") == lines[0].count("|")
