"""The overhead trial in its quick form, for real: that it works, not what it finds."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from levelfield.machine.signals import Signals
from studies.harness.command import TOOLS, exit_code, main, pool
from studies.harness.findings import Cell, Limit, Trial
from studies.harness.schedule import await_quiet, turn_order
from studies.tests.harness.test_findings import bare_loops, cell


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


def test_all_backends_of_a_model_are_judged_together() -> None:
    made = [cell("within"), bare_loops("jax"), bare_loops("torch")]
    found = pool(made)
    assert list(found) == ["bert"]  # of ResNet-50 there is one backend
    assert [(each.launches, each.verdict) for each in found["bert"]] == [(12, "within")] * 2
    assert found["bert"][0].ratio.value == pytest.approx(1.002, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tools", "hyperfine"), "There is no tool called 'hyperfine'"),
        (("--tools", "optimum-benchmark", "--models", "mlp"), "optimum-benchmark measures bert alone"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [*options, "--out", str(tmp_path / "harness.json")])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


def test_every_tool_is_compared_with_a_bare_loop_and_keeps_its_limits() -> None:
    for tool in TOOLS:
        assert tool.contrasts("bert")[0].second == "bare loop"
    limits = {tool.name: [each.limit for each in tool.contrasts("bert")] for tool in TOOLS}
    assert limits.pop("bare loop") == [Limit(share=0.01)] * 2
    assert limits.pop("benchmark_app") == [Limit(), Limit(share=0.02), Limit(share=0.02)]
    assert {limit for each in limits.values() for limit in each} == {Limit()}
    assert {each.limit for each in TOOLS[0].contrasts("mlp")} == {Limit(ns=2000.0)}


def test_two_loops_take_turns_in_random_order() -> None:
    turns = turn_order(("bare", "take"), 12, random.Random(3))
    assert set(zip(turns[::2], turns[1::2], strict=True)) == {("bare", "take"), ("take", "bare")}
    assert turns == turn_order(("bare", "take"), 12, random.Random(3))


@pytest.mark.alone
def test_waiting_for_a_quiet_machine_has_an_end() -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    with Signals(sorted(os.sched_getaffinity(0))) as signals, subprocess.Popen(busy) as process:
        began = time.monotonic()
        assert not await_quiet({}, signals, quiet_s=0.1, most_s=1)
        assert time.monotonic() - began < 3
        process.kill()


@pytest.mark.docker
@pytest.mark.extended
def test_the_quick_study_runs_every_tool_for_real(tmp_path: Path) -> None:
    out = tmp_path / "harness.json"
    command = [sys.executable, "-m", "studies.harness.command", "--quick", "--models", "bert"]
    command += ["--backends", "onnxruntime"]
    done = subprocess.run(
        [*command, "--seed", "7", "--out", str(out)], capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 3, done.stdout + done.stderr  # two launches show nothing, and it says so
    trial = msgspec.json.decode(out.read_bytes(), type=Trial)
    assert trial.seed == 7
    medians = []
    for tool, made in zip(TOOLS, trial.cells, strict=True):
        assert not made.failure
        assert len(made.generations) == 2
        assert {tool.name, "bare loop"} <= set(made.arms)
        for window in (window for each in made.generations for one in each.rounds for window in one.windows):
            # BERT-base is 22 GFLOP: no CPU does them in a millisecond; a busy machine may take ten seconds.
            assert 1e6 < window.median_ns < 1e11
            assert (window.supervisor_share is not None) is (window.arm in ("pyperf", "optimum-benchmark"))
            medians.append(window.median_ns)
        assert 0.3 < made.findings[0].mean_ratio.value < 3
    app = trial.cells[1]
    assert "-hint latency -api sync -infer_precision f32" in app.notes["command"]
    assert app.notes["INFERENCE_NUM_THREADS"] == str(app.case.threads)
    assert len(set(medians)) > len(medians) // 2  # made-up numbers repeat, measured ones hardly do
    assert "pyperf's supervisor took" in out.with_suffix(".md").read_text(encoding="utf-8")
