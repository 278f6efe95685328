"""The beginning of a run: what its first line holds, and where it cannot begin."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.schema import Absent, Run
from levelfield.run.options import Options
from levelfield.run.start import check_same
from tests.canaries import Harness, plan


def test_a_run_begins_with_all_it_knows(reports: Path) -> None:
    run: Run = Harness(plan("latency"), reports, options=Options(seed=5, margin=0.03, command=("a", "b"))).record()
    assert (run.settings.seed, run.settings.margin, run.command) == (5, 0.03, ("a", "b"))
    assert run.labels == ("smoke",)
    assert {"cpu", "memory", "kernel", "engine", "signals"} <= run.machine.keys()
    assert "identity" not in run.machine
    assert {"unlocked", "smoke"} <= {warning.code for warning in run.warnings}
    assert run.supervisor_window_share == Absent("no window was measured")


def test_another_machine_is_refused(reports: Path) -> None:
    run = Harness(plan("latency"), reports).record()
    check_same(run.machine, run.machine)
    other = {**run.machine, "cpu": {**run.machine["cpu"], "model": "Z80"}}
    with pytest.raises(LevelfieldError, match=r"cpu, model: .* became Z80"):
        check_same(run.machine, other)
    with pytest.raises(LevelfieldError, match="cpu"):
        check_same(run.machine, {name: facts for name, facts in run.machine.items() if name != "cpu"})
