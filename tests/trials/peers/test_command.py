"""The trial in its quick form, for real: that it works, not what it finds."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from suite.trials.peers.cells import BARE, CELLS, WORKER
from suite.trials.peers.command import exit_code, main
from suite.trials.peers.record import Trial
from tests.trials.peers.made import TRIAL


def test_what_could_not_be_measured_is_said_to_the_shell() -> None:
    assert exit_code(TRIAL) == 2
    assert exit_code(msgspec.structs.replace(TRIAL, failures=())) == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tools", "hyperfine"), "There is no tool called 'hyperfine'"),
        (("--tools", "optimum-benchmark", "--model", "mlp"), "optimum-benchmark cannot be given mlp here"),
        (("--launches", "0", "--repeats", "0"), "Nothing is asked for"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [*options, "--out", str(tmp_path / "peers.json")])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


def test_a_record_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "peers.json"
    out.write_bytes(msgspec.json.encode(TRIAL))
    done = CliRunner().invoke(main, ["--out", str(out)])
    assert done.exit_code == 2
    assert "exists already" in " ".join(done.output.split())
    assert msgspec.json.decode(out.read_bytes(), type=Trial) == TRIAL


@pytest.mark.docker
@pytest.mark.extended
def test_the_quick_trial_runs_every_tool_for_real(tmp_path: Path) -> None:
    out = tmp_path / "peers.json"
    command = [sys.executable, "-m", "suite.trials.peers", "--quick", "--seed", "7", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    trial = msgspec.json.decode(out.read_bytes(), type=Trial)
    assert trial.seed == 7
    medians = []
    for spec, cell in zip(CELLS, trial.cells, strict=True):
        assert set(cell.arms) == {spec.tool, BARE, *((WORKER,) if spec.worker else ())}
        assert len(cell.generations) == 2
        for window in (window for each in cell.generations for one in each.rounds for window in one.windows):
            # BERT-base is 22 GFLOP: no CPU does them in a millisecond; a busy machine may take ten seconds.
            assert 1e6 < window.median_ns < 1e11
            assert window.calls >= 1
            supervised = window.arm in ("pyperf", "optimum-benchmark")
            assert (window.supervisor_share is not None) is supervised
            medians.append(window.median_ns)
        tool = cell.findings[0]
        assert 0.3 < tool.mean_ratio.value < 3
    assert len(set(medians)) > len(medians) // 2  # made-up numbers repeat, measured ones hardly do
    assert {(each.tool, each.truth) for each in trial.decisions} == {
        (tool, truth) for tool in ("levelfield ab", "pyperf compare_to") for truth in ("same", "slower")
    }
    assert {each.tool for each in trial.disk} == {"Levelfield", *(each.tool for each in CELLS)}
    assert "Reported median over a bare loop's" in out.with_suffix(".md").read_text(encoding="utf-8")
