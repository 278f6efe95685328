"""The LoadGen trial: turns taken for real by a canary, and the findings of turns that are made up."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from studies.loadgen.command import TURNS, main, measure
from studies.loadgen.findings import analyse, markdown
from studies.loadgen.record import Trial
from studies.record import read
from suite.errors import LevelfieldError
from tests import canaries

RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("loadgen-*.json"))


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(LevelfieldError, match="is not a record of the loadgen trial"):
        read(tmp_path / "no.json", Trial)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_findings_follow_from_the_committed_turns(path: Path, tmp_path: Path) -> None:
    trial = read(path, Trial)
    assert analyse(trial).findings == trial.findings
    assert markdown(trial) == path.with_suffix(".md").read_text()
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    assert CliRunner().invoke(main, ["--analyse", str(copy)]).exit_code == 0


@pytest.mark.alone
def test_windows_and_tests_take_turns_on_one_worker() -> None:
    made = canaries.plan("loadgen-single-stream", arms=canaries.ARMS[:1])
    cell = measure(canaries.site(made), made.blocks[0], launches=1, seconds=0.05, seed=3)
    assert not canaries.workers()
    assert sorted(turn.kind for turn in cell.turns) == sorted(TURNS)
    for turn in cell.turns:
        assert turn.calls >= 64
        assert 0 < turn.median_ns <= turn.p90_ns
        assert turn.each_ns >= 0.5 * turn.median_ns
    assert cell.version.startswith("6.0.17")
