"""What making images will cost, where versions stand among them."""

from pathlib import Path

from levelfield.images import catalogue
from levelfield.images.cost import estimate


def test_versions_are_made_one_by_one_and_share_their_wheels(cache: Path) -> None:
    alone = [estimate([name], "venv") for name in ("onnxruntime", "onnxruntime@1.30.0")]
    both = estimate(["onnxruntime", "onnxruntime@1.30.0"], "venv")
    assert both.making == ("onnxruntime", "onnxruntime@1.30.0")
    framework = next(
        pin.size_bytes for pin in catalogue.lock("onnxruntime", "cpu", "1.30.0").pins if pin.name == "onnxruntime"
    )
    assert both.download_bytes == alone[0].download_bytes + framework
    assert max(each.disk_bytes for each in alone) < both.disk_bytes


def test_the_current_version_by_its_number_is_made_once(cache: Path) -> None:
    current = f"onnxruntime@{catalogue.current_version('onnxruntime')}"
    assert estimate(["onnxruntime", current], "venv").making == ("onnxruntime",)


def test_what_a_cuda_variant_takes_is_said_and_not_counted(cache: Path) -> None:
    cost = estimate(["onnxruntime@cu13"], "venv")
    assert cost.unsized == sum(not pin.sized for pin in catalogue.lock("onnxruntime", "cu13").pins) > 0
    assert f"{cost.unsized} wheels of unknown size: a CUDA variant takes 2 to 4 GB" in cost.sentence()
    assert "unknown size" not in estimate(["onnxruntime"], "venv").sentence()
