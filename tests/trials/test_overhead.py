"""The overhead trial in its quick form, for real: that it works, not what it finds."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from suite.records.schema import Case
from suite.trials.overhead import contrasts_with_bare_loop, contrasts_with_benchmark_app, exit_code
from suite.trials.record import Cell, Finding, Interval, Limit, Trial, Verdict


def cell(*verdicts: Verdict, failure: str = "") -> Cell:
    contrast = contrasts_with_bare_loop("resnet50")[0]
    one = Interval(1.0, None, None)
    findings = tuple(Finding(contrast, 2, 1.0, 1.0, one, one, one, verdict) for verdict in verdicts)
    case = Case("resnet50", "latency", "fp32", 1, 2)
    return Cell("jax", case, ("worker", "bare loop"), (), findings, failure=failure)


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        ([cell("within", "no limit")], 0),
        ([cell("within"), cell("outside")], 1),
        ([cell(failure="it broke"), cell("outside")], 1),
        ([cell("within"), cell(failure="it broke")], 2),
        ([], 2),
        ([cell("within", "not shown")], 3),
    ],
)
def test_the_exit_code_tells_the_worst(cells: list[Cell], code: int) -> None:
    assert exit_code(cells) == code


def test_the_limits_are_those_that_were_promised() -> None:
    assert {each.limit for each in contrasts_with_bare_loop("mlp")} == {Limit(ns=2000.0)}
    assert {each.limit for each in contrasts_with_bare_loop("bert")} == {Limit(share=0.01)}
    assert {each.limit for each in contrasts_with_benchmark_app("resnet50")} == {Limit(share=0.02)}


@pytest.mark.docker
@pytest.mark.slow
def test_the_quick_trial_measures_real_calls(tmp_path: Path) -> None:
    out = tmp_path / "overhead.json"
    command = [sys.executable, "-m", "suite.trials.overhead", "--quick", "--models", "mlp", "--backends", "onnxruntime"]
    done = subprocess.run(
        [*command, "--seed", "7", "--out", str(out)], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 3, done.stdout + done.stderr  # two launches show nothing, and it says so
    assert "onnxruntime" in done.stdout
    trial = msgspec.json.decode(out.read_bytes(), type=Trial)
    assert trial.seed == 7
    assert {image.name for image in trial.images} >= {"onnxruntime", "openvino"}

    loops, app = trial.cells
    assert loops.backend == "onnxruntime"
    assert set(loops.arms) == {"worker", "bare loop", "worker's loop"}
    assert app.backend == "openvino"
    assert set(app.arms) == {"worker", "OpenVINO's clock", "benchmark_app"}
    assert "-hint latency -api sync -infer_precision f32" in app.notes["command"]
    assert app.notes["INFERENCE_NUM_THREADS"] == str(app.case.threads)
    assert "float32" in app.notes["INFERENCE_PRECISION_HINT"]
    orders = set()
    for each in (loops, app):
        assert not each.failure
        assert len(each.generations) == 2
        for generation in each.generations:
            for one in generation.rounds:
                assert {window.arm for window in one.windows} == set(each.arms)
                orders.add((each.backend, tuple(window.arm for window in one.windows)))
                for window in one.windows:
                    # An MLP of 36,000 weights takes microseconds: neither nothing nor milliseconds.
                    assert 1_000 < window.median_ns < 5_000_000
                    assert window.calls >= 3
        assert all(finding.verdict in {"not shown", "no limit"} for finding in each.findings)
    assert len(orders) > 2
    medians = [window.median_ns for each in loops.generations for one in each.rounds for window in one.windows]
    assert len(set(medians)) > len(medians) // 2  # made-up numbers repeat, measured ones hardly do
