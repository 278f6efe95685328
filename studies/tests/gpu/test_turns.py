"""The ratios of a launch, and other clocks: that they work where there is no GPU, not what they find on one."""

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

from levelfield.machine.gpu import problem
from levelfield.record.schema import Absent, DeviceUse
from studies.gpu import clock, turns
from studies.gpu.clock import AGREES, DIFFERS, OURS, UNDECIDED, Agreement
from studies.gpu.turns import AGAIN, ALONE, BESIDE, Window


def window(phase: str, median_ns: float, energy_mj: int | Absent = 500) -> Window:
    known = {"elapsed_ns": 1, "energy_mj": energy_mj, "sm_clock_mhz": 1980, "throttled": ()}
    absent = {name: Absent("not asked") for name in DeviceUse.__struct_fields__ if name not in known}
    return Window(phase, median_ns, 10, DeviceUse(**known, **absent))  # type: ignore[arg-type]


def test_ratios_are_of_geometric_means_and_energy_is_that_of_a_call() -> None:
    taken = [window(ALONE, 100.0), window(ALONE, 121.0), window(BESIDE, 165.0), window(AGAIN, 110.0)]
    assert turns._ratio(taken, (BESIDE,), (ALONE, AGAIN)) == pytest.approx(1.5)
    assert turns._ratio(taken, (AGAIN,), (ALONE,)) == pytest.approx(1.0)
    energy = [window(ALONE, 1.0, 500), window(BESIDE, 1.0, 1500), window(AGAIN, 1.0, Absent("not told"))]
    assert turns._joules(energy) == pytest.approx(2.0 / 20)
    assert turns._joules(energy[2:]) is None


def test_readings_are_listed_by_phase() -> None:
    launch = turns.Launch((window(ALONE, 1.0), window(BESIDE, 1.0)), 1.0, 1.0)
    assert turns._by_phase([launch, launch], "sm_clock_mhz") == {ALONE: (1980, 1980), BESIDE: (1980, 1980), AGAIN: ()}
    assert turns._by_phase([launch], "temperature_c")[ALONE] == ()


@pytest.mark.skipif(problem() is None, reason="there is a GPU here")
def test_without_a_gpu(tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    result = CliRunner().invoke(turns.main, ["--out", str(out)])
    assert result.exit_code == 2
    assert "GPU" in result.output or "NVIDIA" in result.output
    assert "Traceback" not in result.output
    assert not out.exists()


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.99, 1.01, AGREES), (1.03, 1.05, DIFFERS), (0.90, 0.97, DIFFERS), (0.97, 1.01, UNDECIDED)],
)
def test_clocks_agree_within_two_percent_and_for_certain(low: float, high: float, verdict: int) -> None:
    assert Agreement("a clock", (low * high) ** 0.5, low, high).verdict == verdict


def test_turns_of_clocks_are_paired() -> None:
    """A machine that slows down by half from turn to turn tells nothing of the clocks."""
    drift = [1e6 * 1.5**turn for turn in range(8)]
    found = {OURS: drift, "other": [value * 1.001 for value in drift], "wrong": [value * 1.1 for value in drift]}
    other, wrong = clock.compare(found)
    assert (other.clock, other.verdict, wrong.clock, wrong.verdict) == ("other", AGREES, "wrong", DIFFERS)
    assert wrong.ratio == pytest.approx(1 / 1.1)
    assert "CUDA events" in clock.clocks_for("torch-compile", "cuda")
    assert "CUDA events" not in {**clock.clocks_for("jax", "cuda"), **clock.clocks_for("torch", "cpu")}


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="this interpreter has TensorFlow")
def test_what_is_not_here_is_a_line_and_a_code() -> None:
    result = CliRunner().invoke(clock.main, ["--backends", "tensorflow", "--models", "mlp", "--device", "cpu"])
    assert result.exit_code == 2
    assert "not measured: tensorflow needs the module tensorflow" in result.output


@pytest.mark.framework
def test_all_clocks_time_the_same_calls() -> None:
    pytest.importorskip("torch")
    found = clock.measure("torch", "resnet50", device="cpu", turns=2)
    assert set(found) == {OURS, "a bare loop", "torch.utils.benchmark"}
    assert all(1e6 < value < 1e10 for values in found.values() for value in values)
    assert 0.2 < min(found[OURS]) / min(found["torch.utils.benchmark"]) < 5, "not another number of threads, or unit"
