"""Devices, read from the facts of a record."""

import pytest

from levelfield.compatibility.gate import Gpu, check, choose, from_facts, is_version, key, minor, requirement
from levelfield.record.schema import Absent
from tests.compatibility.machines import H100, K80, TABLE, V100, VARIANTS, machine


@pytest.mark.parametrize(
    ("release", "driver", "runs", "limited"),
    [
        ("12.8.1", "570.124.06", True, False),
        ("12.8.1", "570.26", True, True),
        ("12.8.1", "525.60.13", True, True),
        ("12.8.1", "525.60.12", False, False),
        ("11.8.0", "470.57.02", True, True),
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


@pytest.mark.parametrize(
    ("release", "gpu", "runs"), [("13.0.0", V100, False), ("12.8.1", V100, True), ("12.8.1", K80, False)]
)
def test_a_release_on_a_gpu(release: str, gpu: Gpu, runs: bool) -> None:
    found = check(TABLE, release, machine("610.43.02", gpu))
    assert found.runs is runs
    if not runs:
        assert gpu.title in found.reason


def test_a_fingerprint_becomes_devices() -> None:
    found = from_facts(
        {
            "driver": "580.95.05", "CUDA supported": "13.0", "devices": 2, "device 0 name": "NVIDIA H100",
            "device 0 compute capability": "9.0", "device 0 MIG": True, "device 1": Absent("GPU is lost"),
        }
    )  # fmt: skip
    assert found.gpus == (Gpu(0, "NVIDIA H100", "9.0", mig=True), Gpu(1, "unnamed", None))
    assert (found.driver, found.cuda) == ("580.95.05", "13.0")


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"driver": "newest"},
        {"driver": 580},
        {"driver": "580.95.05", "devices": 10**9},
        {"driver": "580.95.05", "devices": -1, "CUDA supported": 13.0},
        {"driver": "580.95.05", "devices": 1, "device 0 name": 7, "device 0 compute capability": "nine"},
    ],
)
def test_facts_of_strangers_are_no_trouble(facts: dict[str, str | int | float | bool | Absent]) -> None:
    found = from_facts(facts)
    assert len(found.gpus) <= 1024
    assert check(TABLE, "13.0.0", found).reason or found.driver


@pytest.mark.parametrize(
    ("driver", "variant"), [("470.57.02", None), ("525.60.13", "cu12"), ("575.57.08", "cu12"), ("580.65.06", "cu13")]
)
def test_the_newest_variant_that_the_driver_supports(driver: str, variant: str | None) -> None:
    found = choose(TABLE, machine(driver), VARIANTS)
    assert found.variant == variant
    assert bool(found.reason) is (variant is None)


def test_why_there_is_none_asks_for_the_least() -> None:
    found = choose(TABLE, machine("470.57.02"), VARIANTS)
    assert "525.60.13" in found.reason
    assert "570.124.06" in found.fix
    assert choose(TABLE, machine("610.43.02", K80), VARIANTS).reason.startswith("CUDA 12.8.1 has no code for GPU 0")
    assert "no CUDA variant" in choose(TABLE, machine("610.43.02"), {}).reason
    assert "No NVIDIA driver" in choose(TABLE, machine(None), VARIANTS).reason


def test_gpus_of_different_kinds() -> None:
    both = machine("590.48.01", H100, V100)
    found = choose(TABLE, both, VARIANTS)
    assert (found.variant, found.warnings) == ("cu12", ())
    assert choose(TABLE, both, VARIANTS, gpu=0).variant == "cu13"
    assert choose(TABLE, both, VARIANTS, gpu=1).variant == "cu12"
    some = choose(TABLE, both, {"cu13": "13.1.1"})
    assert some.variant == "cu13"
    assert "no code for GPU 1 (Tesla V100, 7.0)" in some.warnings[0]
    assert "on GPU 0 (NVIDIA H100, 9.0) only" in some.warnings[0]


def test_a_gpu_that_is_not_there() -> None:
    found = choose(TABLE, machine("590.48.01"), VARIANTS, gpu=3)
    assert found.reason == "There is no GPU 3 here."
    assert H100.title in found.fix


def test_later_releases_need_no_older_drivers() -> None:
    names = sorted(TABLE.release, key=key)
    needed = [key(TABLE.release[name]) for name in names]
    assert needed == sorted(needed)
    for name in names:
        assert key(TABLE.family[str(minor(name)[0])].minimum_driver) <= key(TABLE.release[name])


@pytest.mark.parametrize(
    ("release", "listed"), [("12.8.0", "12.8.0"), ("12.8.2", "12.8.1"), ("12.8", "12.8.1"), ("13.2.2", "13.2.1")]
)
def test_a_patch_release_that_the_table_lacks_takes_the_highest_of_its_minor(release: str, listed: str) -> None:
    found = requirement(TABLE, release)
    assert found is not None
    assert found.driver == TABLE.release[listed]


@pytest.mark.parametrize("text", ["", "13.x", "13..0", "13.0\n", "-1", "1" * 10, "١٣.٠", "13.0+cu"])
def test_what_is_no_version(text: str) -> None:
    assert not is_version(text)
    with pytest.raises(ValueError, match="not a version"):
        key(text)
