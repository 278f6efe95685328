"""The spin trial: windows taken for real by canaries, and what is said of windows that are made up."""

from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.trials.record import read
from suite.trials.spin import command
from suite.trials.spin.record import Trial

RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("spin-*.json"))


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(LevelfieldError, match="is not a record of the spin trial"):
        read(tmp_path / "no.json", Trial)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_findings_follow_from_the_committed_windows(path: Path, tmp_path: Path) -> None:
    trial = read(path, Trial)
    again = command.analyse(trial, tmp_path / path.name)
    assert (again.findings, again.verdicts, again.warming) == (trial.findings, trial.verdicts, trial.warming)
    assert (tmp_path / path.name).with_suffix(".md").read_text() == path.with_suffix(".md").read_text()
