"""The spin trial: windows taken for real by canaries, and what is said of windows that are made up."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from studies.record import read
from studies.spin.command import main, measure
from studies.spin.findings import analyse, markdown
from studies.spin.record import RULES, Trial
from suite.errors import LevelfieldError
from suite.schedule.rounds import REWARM_NS, WARM_CALLS, WARM_NS, Pace
from tests import canaries, hostile

MS = 1_000_000
RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("spin-*.json"))


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(LevelfieldError, match="is not a record of the spin trial"):
        read(tmp_path / "no.json", Trial)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_findings_follow_from_the_committed_windows(path: Path, tmp_path: Path) -> None:
    trial = read(path, Trial)
    again = analyse(trial)
    assert (again.findings, again.verdicts, again.warming) == (trial.findings, trial.verdicts, trial.warming)
    assert markdown(again) == path.with_suffix(".md").read_text()
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    done = CliRunner().invoke(main, ["--analyse", str(copy)])
    assert done.exit_code == int(not all(each.holds for each in trial.verdicts if each.rule == "until still"))
    assert copy.with_suffix(".md").read_text() == path.with_suffix(".md").read_text()
    assert read(copy, Trial) == again


@pytest.mark.alone
def test_rules_alternate_and_each_begins_its_windows_in_its_own_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The windows after an arm that spins for 120 ms wait for it under the new rule, and meet it under the old one."""
    hostile.install(tmp_path, monkeypatch)
    spins = hostile.arm("spins")
    made = canaries.plan("latency", arms=(spins, canaries.ARMS[1]))
    cell = measure(canaries.site(made), made.blocks[0], Pace(0, 20 * MS, 3, 0), seconds=4, seed=3)
    assert not canaries.workers()
    assert {window.rule for window in cell.windows} == set(RULES)
    for window in cell.windows:
        assert window.calls >= 3
        assert window.warm_calls >= {"fixed 40 ms": 1, "until still": WARM_CALLS}.get(window.rule, 0)
        assert window.warm_ns >= 0.95 * {"fixed 40 ms": REWARM_NS, "until still": WARM_NS}.get(window.rule, 0)
        if window.rule == "until still, no warm call":
            assert window.warm_calls == 0
    after = [window for window in cell.windows if window.before == spins.id and window.arm != spins.id]
    for rule in RULES:
        of_rule = [window for window in after if window.rule == rule]
        assert of_rule
        for window in of_rule:
            assert (window.waited_ns > 80 * MS) == (rule != "fixed 40 ms")
            assert window.idle_workers_ns is not None
            assert rule == "fixed 40 ms" or window.idle_workers_ns < 10 * MS
