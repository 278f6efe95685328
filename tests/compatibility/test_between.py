import msgspec

from levelfield.compatibility import table
from levelfield.compatibility.between import between
from levelfield.record.schema import Absent, Fingerprint, Image, Warning_
from tests.records_builder import make_image

TABLE = table.read()


def side(driver: str | None, name: str = "NVIDIA H100", capability: str = "9.0") -> Fingerprint:
    if driver is None:
        return {"gpu": {"driver": Absent("there is none")}}
    return {
        "gpu": {
            "driver": driver,
            "devices": 1,
            "device 0 name": name,
            "device 0 compute capability": capability,
        }
    }


def image(**distributions: str) -> Image:
    named = {name.replace("_", "-"): version for name, version in distributions.items()}
    return msgspec.structs.replace(make_image("torch", "docker"), variant="cu13", distributions=named)


CU13 = image(cuda_toolkit="13.0.2", nvidia_cublas="13.1.0.3", nvidia_cudnn_cu13="9.13.0.50")


def codes(found: tuple[Warning_, ...]) -> list[str]:
    return [one.code for one in found]


def test_an_upgrade_that_fits_needs_no_word() -> None:
    assert between(TABLE, side("580.95.05"), side("590.48.01"), old_images=[CU13], new_images=[CU13]) == ()


def test_machines_without_gpus_need_no_word() -> None:
    assert between(TABLE, side(None), side(None)) == ()
    assert between(TABLE, {}, {}) == ()


def test_a_driver_that_went_back_or_away() -> None:
    (back,) = between(TABLE, side("590.48.01"), side("580.95.05"))
    assert back.message == "The NVIDIA driver went back from 590.48.01 to 580.95.05."
    assert codes(between(TABLE, side("590.48.01"), side(None))) == ["driver-on-one-side"]
    assert codes(between(TABLE, side(None), side("590.48.01"))) == ["driver-on-one-side"]


def test_a_newer_image_on_an_older_driver() -> None:
    newer = image(cuda_toolkit="13.1.1")
    (found,) = between(TABLE, side("580.95.05"), side("580.95.05"), old_images=[CU13], new_images=[newer])
    assert found.code == "cuda-misfit"
    assert "minor-version compatibility" in found.message
    assert found.about == "torch cu13"
    assert found.remedy
    (too_old,) = between(TABLE, side("570.26"), side("570.26"), new_images=[newer])
    assert "needs the driver 580.65.06" in too_old.message


def test_what_is_known_to_compute_wrongly_is_said_once() -> None:
    both = side("590.48.01", "NVIDIA B200", "10.0")
    found = between(TABLE, both, both, old_images=[CU13], new_images=[CU13])
    assert codes(found) == ["known-bad"]
    assert "Version 13.1.0.3 of cuBLAS" in found[0].message


def test_images_for_the_cpu_have_no_say() -> None:
    cpu = make_image("torch", "docker")
    assert between(TABLE, side("470.57.02"), side("470.57.02"), old_images=[cpu], new_images=[cpu]) == ()
