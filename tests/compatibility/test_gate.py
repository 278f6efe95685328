import pytest

from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.compatibility.gate import check
from tests.compatibility.machines import K80, TABLE, V100, machine


@pytest.mark.parametrize(
    ("release", "driver", "runs", "limited"),
    [
        ("12.8.1", "570.124.06", True, False),
        ("12.8.1", "570.26", True, True),
        ("12.8.1", "525.60.13", True, True),
        ("12.8.1", "525.60.12", False, False),
        ("12.8.1", "470.57.02", False, False),
        ("12.8.1", "580.95.05", True, False),
        ("13.0.0", "580.65.06", True, False),
        ("13.0.2", "580.65.06", True, True),
        ("13.0.0", "575.57.08", False, False),
        ("11.8.0", "470.57.02", True, True),
        ("11.8.0", "610.43.02", True, False),
    ],
)
def test_a_release_on_a_driver(release: str, driver: str, runs: bool, limited: bool) -> None:
    found = check(TABLE, release, machine(driver))
    assert found.runs is runs
    assert bool(found.warnings) is limited
    assert bool(found.reason) is not runs
    if limited:
        assert "minor-version compatibility" in found.warnings[0]
        assert driver in found.warnings[0]
    if not runs:
        assert driver in found.reason
        assert found.fix.startswith("Install the driver")


def test_a_minor_newer_than_the_table_asks_the_driver_itself() -> None:
    assert check(TABLE, "13.9.1", machine("620.10.01", cuda="13.9")).warnings == ()
    found = check(TABLE, "13.9.1", machine("620.10.01", cuda="13.3"))
    assert found.runs
    assert "newer than this Levelfield's table" in found.warnings[0]


def test_a_family_that_nobody_knows() -> None:
    assert "does not know" in check(TABLE, "14.0.0", machine("700.10")).reason


@pytest.mark.parametrize(
    ("release", "gpu", "runs"),
    [
        ("13.0.0", V100, False),
        ("12.8.1", V100, True),
        ("12.8.1", K80, False),
        ("11.8.0", K80, True),
        ("13.0.0", Gpu(0, "Tesla T4", "7.5"), True),
        ("13.0.0", Gpu(0, "NVIDIA B200", "10.0"), True),
    ],
)
def test_a_release_on_a_gpu(release: str, gpu: Gpu, runs: bool) -> None:
    found = check(TABLE, release, machine("610.43.02", gpu))
    assert found.runs is runs
    if not runs:
        assert gpu.title in found.reason


def test_what_is_not_known_of_a_gpu_is_said() -> None:
    found = check(TABLE, "13.0.0", machine("610.43.02", Gpu(0, "A new one", None)))
    assert found.runs
    assert "was not checked" in found.warnings[0]


def test_slices_are_said() -> None:
    found = check(TABLE, "13.0.0", machine("610.43.02", Gpu(0, "NVIDIA H100", "9.0", mig=True)))
    assert any("MIG is on" in text for text in found.warnings)


def test_no_driver_and_no_gpu_are_one_sentence_each() -> None:
    assert check(TABLE, "13.0.0", machine(None)).reason == "No NVIDIA driver answers here: there is none."
    assert "shows no GPU" in check(TABLE, "13.0.0", Nvidia(driver="610.43.02")).reason
