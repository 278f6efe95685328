"""The spin trial: windows taken for real by canaries, and what is said of windows that are made up."""

from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.schedule.preparation import canary_case
from suite.schedule.rounds import REWARM_NS, WARM_CALLS, WARM_NS, Pace
from suite.trials.record import read
from suite.trials.spin import command, findings
from suite.trials.spin.measure import measure
from suite.trials.spin.record import RULES, Cell, Rule, Trial, Window
from tests import canaries, hostile

RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("spin-*.json"))
MS = 1_000_000


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


def windows(rule: Rule, arm: str, before: str, first: int, count: int) -> list[Window]:
    return [Window(rule, arm, before, 0, (), 1, 1, 5, 100.0, (first, 100, 100), 0, 0, 1)] * count


def made_up(slow_after_spinning: int, slow_after_canary: int) -> Cell:
    """Forty windows of torch after each arm, so many of them slow; and two of the canary."""
    rule: Rule = "until still"
    taken = [
        *windows(rule, "torch", "onnxruntime", 150, slow_after_spinning),
        *windows(rule, "torch", "onnxruntime", 105, 40 - slow_after_spinning),
        *windows(rule, "torch", "canary", 150, slow_after_canary),
        *windows(rule, "torch", "canary", 105, 40 - slow_after_canary),
        *windows(rule, "canary", "onnxruntime", 200, 2),
    ]
    return Cell(canary_case(1), ("onnxruntime", "torch", "canary"), MS, 3, tuple(taken))


@pytest.mark.parametrize(("slow", "holds"), [(2, True), (6, True), (7, False), (20, False)])
def test_after_spinning_may_be_no_worse_than_the_canarys_interval(slow: int, holds: bool) -> None:
    """Two of forty: its exact interval reaches to 16.9 %."""
    (verdict,) = findings.judge([made_up(slow, 2)])
    assert verdict.of == ("torch",)
    assert (verdict.after_spinning.successes, verdict.after_spinning.trials) == (slow, 40)
    assert verdict.after_canary.high == pytest.approx(0.169, abs=1e-3)
    assert verdict.holds is holds


def test_frameworks_and_the_canary_are_counted_apart() -> None:
    found = {(each.before, each.of): each for each in findings.find([made_up(10, 0)])}
    frameworks = ("onnxruntime", "torch")
    assert found["onnxruntime", frameworks].slow.share == 0.25
    assert found["onnxruntime", frameworks].mean_excess == pytest.approx(0.1625)
    assert found["onnxruntime", ("canary",)].slow.successes == 2
    assert len(found) == 3


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
