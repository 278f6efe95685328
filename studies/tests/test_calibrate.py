"""Calibration runs: judged by their control, and one for real."""

import subprocess
import sys
from pathlib import Path

import pytest

from studies.calibrate import repeat_of
from suite.errors import LevelfieldError
from suite.paths import CACHE_FOLDERS, cache_folder
from suite.run.calibration import Repeat, load
from suite.statistics.verdicts import Verdict
from tests.records_builder import make_run


def test_a_run_without_a_control_is_refused() -> None:
    with pytest.raises(LevelfieldError, match="no interval for its control"):
        repeat_of(make_run(generations=2), 1.0)


def test_a_run_is_judged_by_its_control() -> None:
    def judged(**words: float) -> Repeat:
        record = make_run(models=["resnet50"], scenarios=["latency"], control="onnxruntime", **words)  # type: ignore[arg-type]
        return repeat_of(record, 12.0)

    exact = judged(noise_scale=0.0)
    assert exact.verdict is Verdict.SAME
    assert exact.ratio == pytest.approx(1.0)
    assert exact.seconds == 12.0
    assert len(exact.medians_ns) == 5
    assert judged(noise_scale=5.0).verdict is Verdict.INCONCLUSIVE


@pytest.mark.docker
def test_a_real_run_is_calibrated_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: object) -> None:
    for name in CACHE_FOLDERS:  # what takes minutes to make is there already: only the result goes elsewhere
        (tmp_path / name).symlink_to(cache_folder(name))
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    command = [sys.executable, "-m", "studies.calibrate", "--model", "mlp", "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = load()
    assert found is not None
    assert len(found.repeats) == 1
    assert found.repeats[0].low < found.repeats[0].ratio < found.repeats[0].high
    assert len(found.repeats[0].medians_ns) == found.launches == 5
    assert found.split is not None
    again = subprocess.run([*command, "--add"], capture_output=True, text=True, check=False, timeout=600)
    assert again.returncode == 0, again.stdout + again.stderr
    more = load()
    assert more is not None
    assert more.repeats[0] == found.repeats[0]
    assert len(more.repeats) == 2
    other = [*command[:-1], "1", "--add", "--threads", "1"]
    refused = subprocess.run(other, capture_output=True, text=True, check=False, timeout=600)
    assert refused.returncode == 2
    assert "other conditions" in refused.stdout
