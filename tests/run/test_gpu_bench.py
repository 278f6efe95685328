"""A run on a GPU, as far as it goes without one: a driver answers through ctypes, and no framework sees it."""

from pathlib import Path

import pytest

from levelfield.record import files
from tests.commands import run
from tests.machine.fake_nvml import compile_library, environment


@pytest.mark.extended
@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="This machine has an NVIDIA driver.")
def test_a_run_on_a_gpu_that_no_framework_sees(tmp_path: Path) -> None:
    library = compile_library(tmp_path / "nvml", driver="595.58.03", cuda=13020)
    words = ("--launcher", "host", "--profile", "smoke", "--models", "mlp", "--backends", "torch,jax")
    command = run("bench", *words, folder=tmp_path, environment=environment(library))
    assert "Traceback" not in command.err + command.out
    (record,) = (tmp_path / "reports").glob("*/report.html")
    run_ = files.read(record.parent)
    assert run_.settings.gpu == 0
    (block,) = run_.blocks
    assert block.case.device == "cuda"
    assert {arm.id for arm in block.arms if arm.ordinal == 1} == {"torch@cuda", "jax@cuda"}
    failures = {launch.arm: launch.failure for each in block.generations for launch in each.launches if launch.failure}
    assert {failure.kind for failure in failures.values()} == {"unsupported"}, failures
    # The canary took its turns, and NVML was asked about each of them.
    turns = [turn for each in block.generations for round_ in each.rounds for turn in round_.turns]
    assert turns
    for turn in turns:
        assert turn.device is not None
        assert turn.device.power_mw == 310_000
        assert turn.device.energy_mj == 0
    text = files.content_of(record).decode()
    assert "GPU-0000" not in text, "a UUID names one GPU among all in the world"
