"""The padding trial's records: what is committed follows from what was measured."""

import os
from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.trials.padding import command
from suite.trials.padding.record import Trial
from suite.trials.padding.show import markdown
from suite.trials.record import read
from tests.trials.padding.test_findings import made_up

RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("padding-*.json"))


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(LevelfieldError, match="is not a record of the padding trial"):
        read(tmp_path / "no.json", Trial)


def test_a_record_is_analysed_written_and_read_again(tmp_path: Path) -> None:
    trial = Trial(
        schema=1,
        started="2026-11-24T00:00:00Z",
        finished="2026-11-24T00:05:00Z",
        tool_version="1",
        seed=3,
        machine={"kernel": {"address randomisation": 2}},
        images=(),
        artifacts=(),
        load_before=os.getloadavg(),
        load_after=os.getloadavg(),
        launcher="docker",
        cells=(made_up(10, {"fixed": 0.01, "random": 0.03}),),
    )
    analysed = command.analyse(trial, tmp_path / "padding.json")
    assert read(tmp_path / "padding.json", Trial) == analysed
    text = (tmp_path / "padding.md").read_text()
    assert text == markdown(analysed)
    assert "padding adds variance" in text
    assert "kernel.randomize_va_space: 2" in text


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_findings_follow_from_the_committed_launches(path: Path, tmp_path: Path) -> None:
    trial = read(path, Trial)
    again = command.analyse(trial, tmp_path / path.name)
    assert again.findings == trial.findings
    assert (tmp_path / path.name).with_suffix(".md").read_text() == path.with_suffix(".md").read_text()
