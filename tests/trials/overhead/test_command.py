"""The overhead trial in its quick form, for real: that it works, not what it finds."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.record.schema import Case
from suite.trials.overhead.benchmark_app import CACHE
from suite.trials.overhead.command import (
    contrasts_with_bare_loop,
    contrasts_with_benchmark_app,
    exit_code,
    pool,
    require_alone,
)
from suite.trials.overhead.record import Cell, Limit, Trial
from tests.trials.overhead.cells import ARMS, cell, findings, generations


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
    assert {each.limit for each in contrasts_with_benchmark_app("resnet50")[:2]} == {Limit(share=0.02)}
    assert {each.limit for each in contrasts_with_benchmark_app("decoder")[:2]} == {Limit(share=0.03)}


@pytest.mark.parametrize(
    ("models", "backends", "app", "says"),
    [
        (("mlp", "decoder"), (), True, "--models decoder"),
        (("decoder",), ("jax",), True, "compared with benchmark_app alone"),
        (("decoder",), (), False, "compared with benchmark_app alone"),
    ],
)
def test_a_decoder_is_measured_by_itself(
    models: tuple[str, ...], backends: tuple[str, ...], app: bool, says: str
) -> None:
    with pytest.raises(LevelfieldError, match=says):
        require_alone(models, backends, app=app)


def test_networks_are_measured_in_whole_calls() -> None:
    assert require_alone(("decoder",), (), app=True)
    assert not require_alone(("mlp", "bert"), ("jax",), app=False)


def test_all_backends_of_a_model_are_judged_together() -> None:
    made = [
        cell("within"),
        *(
            Cell(backend, Case("bert", "latency", "fp32", 1, 2), ARMS, generations(1.002), findings("bert"))
            for backend in ("jax", "torch")
        ),
    ]
    found = pool(made)
    assert list(found) == ["bert"]  # of ResNet-50 there is one backend
    between, inside = found["bert"]
    assert (between.launches, inside.launches) == (12, 12)
    assert between.verdict == inside.verdict == "within"
    assert between.ratio.value == pytest.approx(1.002, abs=1e-4)


@pytest.mark.docker
@pytest.mark.extended
def test_the_quick_trial_measures_real_calls(tmp_path: Path) -> None:
    out = tmp_path / "overhead.json"
    command = [
        sys.executable,
        "-m",
        "suite.trials.overhead",
        "--quick",
        "--models",
        "mlp",
        "--backends",
        "onnxruntime",
    ]
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
    kinds = set()
    for each in (loops, app):
        assert not each.failure
        assert len(each.generations) == 2
        for generation in each.generations:
            for one in generation.rounds:
                arms = {window.arm for window in one.windows}
                if each is app:
                    assert arms == set(app.arms)
                else:
                    assert arms in ({"worker", "bare loop"}, {"worker's loop", "bare loop"})
                kinds.add((each.backend, frozenset(arms)))
                orders.add((each.backend, tuple(window.arm for window in one.windows)))
                for window in one.windows:
                    # An MLP of 36,000 weights takes microseconds: neither nothing nor milliseconds.
                    assert 1_000 < window.median_ns < 5_000_000
                    assert window.calls >= 3
        assert all(finding.verdict in {"not shown", "no limit"} for finding in each.findings)
    assert len(kinds) == 3  # the two loops in one process, the two processes, benchmark_app
    assert len(orders) > 3
    medians = [window.median_ns for each in loops.generations for one in each.rounds for window in one.windows]
    assert len(set(medians)) > len(medians) // 2  # made-up numbers repeat, measured ones hardly do


@pytest.mark.docker
@pytest.mark.extended
def test_the_quick_trial_gives_benchmark_app_the_stateful_decoder(tmp_path: Path) -> None:
    out = tmp_path / "decode.json"
    command = [sys.executable, "-m", "suite.trials.overhead", "--quick", "--models", "decoder", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 3, done.stdout + done.stderr  # two launches show nothing, and it says so
    (cell,) = msgspec.json.decode(out.read_bytes(), type=Trial).cells
    assert cell.case.id.startswith("decoder/decode/fp32/b1/")
    assert cell.case.depth == 128
    assert "-m /trial/stateful/model.xml" in cell.notes["command"]
    assert "-data_shape input_ids[1, 1],positions[1]" in cell.notes["command"]
    assert "float32" in cell.notes["INFERENCE_PRECISION_HINT"]
    assert CACHE in out.with_suffix(".md").read_text(encoding="utf-8")
    for generation in cell.generations:
        for one in generation.rounds:
            assert {window.arm for window in one.windows} == {"worker", "OpenVINO's clock", "benchmark_app"}
            # A step reads 120 MB of weights: no machine does that in a tenth of a millisecond.
            assert all(window.median_ns > 100_000 and window.calls >= 3 for window in one.windows)
    own_clock = next(each for each in cell.findings if each.contrast.first == "OpenVINO's clock")
    assert 0.5 < own_clock.ratio.value < 2
