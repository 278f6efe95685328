"""The CUDA variant that fits a machine."""

import pytest

from levelfield.compatibility.selection import choose
from levelfield.errors import LevelfieldError
from tests.compatibility.machines import H100, K80, TABLE, V100, VARIANTS, machine


@pytest.mark.parametrize(
    ("driver", "variant"),
    [
        ("470.57.02", None),
        ("525.60.13", "cu12"),
        ("535.104.05", "cu12"),
        ("550.54.15", "cu12"),
        ("560.35.03", "cu12"),
        ("570.124.06", "cu12"),
        ("575.57.08", "cu12"),
        ("580.65.06", "cu13"),
        ("590.48.01", "cu13"),
    ],
)
def test_the_newest_variant_that_the_driver_supports(driver: str, variant: str | None) -> None:
    found = choose(TABLE, machine(driver), VARIANTS)
    assert found.variant == variant
    assert bool(found.reason) is (variant is None)


def test_newest_is_by_numbers_not_by_names() -> None:
    variants = {"cu12-old": "12.9.1", "cu12-new": "12.10.0"}
    assert choose(TABLE, machine("610.43.02", cuda="13.3"), variants).variant == "cu12-new"


def test_why_there_is_none_asks_for_the_least() -> None:
    found = choose(TABLE, machine("470.57.02"), VARIANTS)
    assert "525.60.13" in found.reason
    assert "570.124.06" in found.fix
    assert choose(TABLE, machine("610.43.02", K80), VARIANTS).reason.startswith("CUDA 12.8.1 has no code for GPU 0")
    assert "no CUDA variant" in choose(TABLE, machine("610.43.02"), {}).reason
    assert "No NVIDIA driver" in choose(TABLE, machine(None), VARIANTS).reason


def test_an_old_gpu_takes_the_older_variant() -> None:
    assert choose(TABLE, machine("590.48.01", V100), VARIANTS).variant == "cu12"


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


def test_what_was_asked_for_is_taken_with_a_warning() -> None:
    found = choose(TABLE, machine("535.104.05"), VARIANTS, requested="cu13")
    assert found.variant == "cu13"
    assert found.warnings[0].startswith("cu13 was asked for, and is not expected to run here: CUDA 13.1.1 needs")
    assert choose(TABLE, machine("590.48.01"), VARIANTS, requested="cu13").warnings == ()
    assert choose(TABLE, machine("590.48.01"), VARIANTS, requested="cu12").variant == "cu12"
    with pytest.raises(LevelfieldError, match="no CUDA variant called 'cu14'"):
        choose(TABLE, machine("590.48.01"), VARIANTS, requested="cu14")
