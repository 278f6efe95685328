"""The ratios of a launch: beside another arm to alone, and alone again to alone."""

import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from levelfield.machine.gpu import problem
from levelfield.record.schema import Absent, DeviceUse
from studies.gpu import turns
from studies.gpu.turns import AGAIN, ALONE, BESIDE, Window, main


def use(energy_mj: int | Absent) -> DeviceUse:
    absent = Absent("not asked")
    return DeviceUse(
        elapsed_ns=1,
        energy_mj=energy_mj,
        power_mw=absent,
        utilisation_percent=absent,
        memory_utilisation_percent=absent,
        sm_clock_mhz=1980,
        memory_clock_mhz=absent,
        temperature_c=absent,
        throttled=(),
        memory_bytes=absent,
        ecc_errors=absent,
        xid_errors=absent,
    )


def window(phase: str, median_ns: float, energy_mj: int | Absent = 500) -> Window:
    return Window(phase, median_ns, 10, use(energy_mj))


def test_ratios_are_of_geometric_means() -> None:
    taken = [window(ALONE, 100.0), window(ALONE, 121.0), window(BESIDE, 165.0), window(AGAIN, 110.0)]
    assert turns._ratio(taken, (BESIDE,), (ALONE, AGAIN)) == pytest.approx(1.5)
    assert turns._ratio(taken, (AGAIN,), (ALONE,)) == pytest.approx(1.0)
    assert math.isclose(turns._ratio(taken, (ALONE,), (ALONE,)), 1.0)


def test_energy_is_that_of_a_call() -> None:
    taken = [window(ALONE, 1.0, 500), window(BESIDE, 1.0, 1500), window(AGAIN, 1.0, Absent("not told"))]
    assert turns._joules(taken) == pytest.approx(2.0 / 20)
    assert turns._joules(taken[2:]) is None


def test_readings_are_listed_by_phase() -> None:
    launch = turns.Launch((window(ALONE, 1.0), window(BESIDE, 1.0)), 1.0, 1.0)
    assert turns._by_phase([launch, launch], "sm_clock_mhz") == {ALONE: (1980, 1980), BESIDE: (1980, 1980), AGAIN: ()}
    assert turns._by_phase([launch], "temperature_c")[ALONE] == ()


NO_GPU = problem() is not None


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
def test_without_a_gpu(tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    result = CliRunner().invoke(main, ["--out", str(out)])
    assert result.exit_code == 2
    assert "GPU" in result.output or "NVIDIA" in result.output
    assert "Traceback" not in result.output
    assert not out.exists()
