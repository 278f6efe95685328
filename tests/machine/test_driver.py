"""What is said of a driver and its GPUs before a run."""

from pathlib import Path

import pytest

from tests.machine.fake_nvml import H100, ask, compile_library


def test_two_gpus_of_one_kind_are_no_matter(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, gpus=(H100, H100)))
    assert [finding["state"] for finding in found["findings"]] == ["ok"]


def test_slices(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, gpus=(H100._replace(mig=1),)))
    assert found["facts"]["device 0 MIG"] is True
    warning = found["findings"][1]
    assert (warning["topic"], warning["state"]) == ("GPU 0", "warn")
    assert "MIG is on" in warning["message"]
    assert "-mig 0" in warning["fix"]


@pytest.mark.parametrize(("mode", "says"), [(2, "lets no process compute"), (3, "lets one process in at a time")])
def test_a_gpu_that_does_not_let_several_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, says: str
) -> None:
    (tmp_path / "now").write_text(f"mode={mode}\n")
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "now"))
    found = ask(compile_library(tmp_path / "nvml"))
    warning = found["findings"][1]
    assert (warning["topic"], warning["state"]) == ("GPU 0", "warn")
    assert says in warning["message"]
    assert warning["fix"] == "Let several in: nvidia-smi -i 0 -c DEFAULT (as root)."


def test_a_driver_that_lets_the_gpu_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "now").write_text("persistence=0\n")
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "now"))
    warning = ask(compile_library(tmp_path / "nvml"))["findings"][1]
    assert (warning["topic"], warning["state"]) == ("GPU 0", "warn")
    assert "persistence mode is off" in warning["message"]
    assert warning["fix"] == "Keep it ready: nvidia-smi -i 0 -pm 1 (as root)."
    unknown = ask(compile_library(tmp_path / "older", without=("SENSORS",)))
    assert [finding["topic"] for finding in unknown["findings"]] == ["NVIDIA driver"], "what is not told is no fault"
