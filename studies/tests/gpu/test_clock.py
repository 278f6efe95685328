"""The clocks that a GPU's times are held against: that they work where there is no GPU, not what they find on one."""

import importlib.util

import pytest

from studies.gpu import clock as device_clock
from studies.gpu.clock import AGREES, DIFFERS, OURS, UNDECIDED, Agreement, clocks_for, compare


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.99, 1.01, AGREES),
        (1.03, 1.05, DIFFERS),
        (0.90, 0.97, DIFFERS),
        (0.97, 1.01, UNDECIDED),
        (0.9, 1.1, UNDECIDED),
    ],
)
def test_agreement_is_within_two_percent_and_certain(low: float, high: float, verdict: int) -> None:
    assert Agreement("a clock", (low * high) ** 0.5, low, high).verdict == verdict


def test_turns_are_paired() -> None:
    """A machine that slows down by half from turn to turn tells nothing of the clocks."""
    drift = [1e6 * 1.5**turn for turn in range(8)]
    found = {OURS: drift, "other": [value * 1.001 for value in drift], "wrong": [value * 1.1 for value in drift]}
    other, wrong = compare(found)
    assert (other.clock, other.verdict) == ("other", AGREES)
    assert (wrong.clock, wrong.verdict) == ("wrong", DIFFERS)
    assert wrong.ratio == pytest.approx(1 / 1.1)


def test_events_are_torchs_own() -> None:
    assert "CUDA events" in clocks_for("torch-compile", "cuda")
    assert "CUDA events" not in clocks_for("jax", "cuda")
    assert "CUDA events" not in clocks_for("torch", "cpu")


def test_what_is_not_here_is_a_line_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("tensorflow") is not None:
        pytest.skip("this interpreter has TensorFlow")
    assert device_clock.main(["--backends", "tensorflow", "--models", "mlp", "--device", "cpu"]) == 2
    assert "not measured: tensorflow needs the module tensorflow" in capsys.readouterr().out


@pytest.mark.framework
def test_both_clocks_time_the_same_calls() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch")
    found = device_clock.measure("torch", "resnet50", device="cpu", turns=2)
    assert set(found) == {OURS, "torch.utils.benchmark"}
    for values in found.values():
        assert len(values) == 2
        assert all(1e6 < value < 1e10 for value in values)
    assert 0.2 < min(found[OURS]) / min(found["torch.utils.benchmark"]) < 5, "not another number of threads, or unit"
