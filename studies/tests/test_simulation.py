"""The world does what it says and has the effects of published records, and the published record is what it writes."""

import math
from pathlib import Path

import numpy as np
import pytest

from levelfield.statistics.arrays import Floats
from studies.commands import read
from studies.simulation.command import Simulated, markdown, simulate
from studies.simulation.world import BUSY, FACTORS, LAUNCH_SD, QUIET, Arm, Measured, Schedule, Unit, measure
from tests.commands import ROOT

PUBLISHED = sorted((ROOT / "reports" / "trials").glob("simulation-*.json"))
PAIR = [Arm("onnxruntime"), Arm("openvino")]


def measured(unit: Unit, contended: float, *, runs: int = 300, spin_slows: float = 0.0) -> Measured:
    schedule = Schedule(generations=6, measuring_s=3.0, apart_s=10.0, unit=unit)
    return measure(np.random.default_rng(5), runs, PAIR, schedule, contended=contended, spin_slows=spin_slows)


def ratios(found: Measured) -> Floats:
    return np.asarray(found.levels[:, :, 0] - found.levels[:, :, 1])


@pytest.mark.parametrize("contended", [QUIET, BUSY])
def test_where_every_window_counts_so_many_are_contended(contended: float) -> None:
    found = measured("all windows", contended)
    assert found.misses == pytest.approx(contended, abs=0.04)
    slowed = contended * math.log(FACTORS["onnxruntime"] / FACTORS["openvino"])
    assert float(ratios(found).mean()) == pytest.approx(slowed, abs=0.02)


@pytest.mark.parametrize("unit", ["by window", "by round"])
@pytest.mark.parametrize("contended", [QUIET, BUSY])
def test_calm_windows_hold_the_calm_ratio(unit: Unit, contended: float) -> None:
    """ONNX Runtime's threads disturb the probe, and contention slows it four times as much as OpenVINO."""
    found = measured(unit, contended)
    assert found.misses < 0.002
    assert float(np.nanmean(ratios(found))) == pytest.approx(0.0, abs=0.003)
    assert float(np.nanstd(ratios(found))) < 3 * LAUNCH_SD


def test_by_window_leaves_more_windows_than_by_round() -> None:
    arms = [Arm(backend) for backend in FACTORS]
    units: tuple[Unit, ...] = ("by window", "by round")
    windows, rounds = (
        measure(np.random.default_rng(5), 100, arms, Schedule(4, 4.0, 10.0, unit), contended=BUSY).counted.mean()
        for unit in units
    )
    assert windows > 1.5 * rounds


def test_a_slow_mode_is_one_of_launches() -> None:
    schedule = Schedule(generations=4, measuring_s=2.0, apart_s=10.0)
    arms = [Arm("jax", level=0.5, modes=True), Arm("openvino")]
    found = measure(np.random.default_rng(5), 500, arms, schedule)
    slow = found.levels[:, :, 0] > 1.0
    assert float(slow[~np.isnan(found.levels[:, :, 0])].mean()) == pytest.approx(0.12, abs=0.03)


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_the_published_tables_are_those_of_the_record(path: Path) -> None:
    assert path.with_suffix(".md").read_text(encoding="utf-8") == markdown(read(path, Simulated)) + "\n"


@pytest.mark.extended
def test_identical_commands_give_identical_records() -> None:
    assert simulate(1, 100) == simulate(1, 100)
