"""The study answers its questions, and the published record is what it writes."""

from pathlib import Path

import pytest

from studies.commands import read
from studies.simulation.command import Simulated, markdown, simulate
from tests.commands import ROOT

PUBLISHED = sorted((ROOT / "reports" / "trials").glob("simulation-*.json"))


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_the_published_tables_are_those_of_the_record(path: Path) -> None:
    assert path.with_suffix(".md").read_text(encoding="utf-8") == markdown(read(path, Simulated)) + "\n"


def test_a_record_is_published() -> None:
    assert PUBLISHED


@pytest.mark.extended
def test_identical_commands_give_identical_records() -> None:
    first, second = (simulate(1, 100) for _ in range(2))
    assert first == second
    assert {each.hour for each in first.study.decisions} == {"quiet", "busy"}
