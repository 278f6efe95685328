"""The table of what fits this machine, in the terminal."""

from pathlib import Path

from levelfield.compatibility import versions
from levelfield.compatibility.show import grid
from tests.commands import run
from tests.compatibility.machines import H100 as ONE
from tests.compatibility.machines import TABLE, machine
from tests.compatibility.machines import V100 as OLD
from tests.machine import fake_nvml
from tests.machine.fake_nvml import H100, V100, compile_library


def test_doctor_prints_the_table_where_there_is_a_driver(tmp_path: Path) -> None:
    library = compile_library(tmp_path / "nvml", driver="570.124.06", cuda=12080, gpus=(H100, V100))
    command = run("doctor", folder=tmp_path, environment=fake_nvml.environment(library))
    assert "570.124.06, made for CUDA up to 12.8: GPU 0 (NVIDIA H100 80GB HBM3, 9.0), GPU 1" in command.out
    rows = {line.split()[0]: line for line in command.out.splitlines() if line.strip()[:3] in ("12.", "13.")}
    assert rows["12.8.1"].split()[1:4] == ["570.124.06", "525.60.13", "yes"]
    assert "with limits" in rows["12.9.1"]
    assert rows["13.0.2"].split()[1:4] == ["580.95.05", "580.65.06", "no"]
    newer = compile_library(tmp_path / "newer", driver="590.48.01", cuda=13010, gpus=(H100, V100))
    command = run("doctor", folder=tmp_path, environment=fake_nvml.environment(newer))
    assert any("GPU 0 only" in line for line in command.out.splitlines() if line.strip().startswith("13.1.1"))


def test_releases_are_marked_with_what_runs_here_and_who_uses_them() -> None:
    laid = grid(TABLE, machine("570.124.06", ONE, OLD), {"torch": {"cu12": "12.8.1"}, "jax": {"cu13": "13.1.1"}})
    columns = [[str(cell) for cell in column.cells] for column in laid.columns]
    rows = dict(zip(columns[0], zip(*columns[1:], strict=True), strict=True))
    assert rows["12.8.1"][2:] == ("yes", "torch cu12")
    assert rows["13.1.1"][2:] == ("no", "jax cu13")
    assert columns[0] == sorted(columns[0], key=versions.key, reverse=True)
