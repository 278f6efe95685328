"""The CUDA variants of an image."""

from pathlib import Path

import pytest

from levelfield.compatibility import table
from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.images import catalogue, variants


def test_the_variants_of_an_image_are_its_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "catalogue.toml").write_text('[torch]\nbase = "slim"\npurpose = "p"\n', encoding="utf-8")
    (tmp_path / "torch").mkdir()

    def pin(name: str, version: str) -> catalogue.Pin:
        return catalogue.Pin(name, version, f"{name}-{version}-py3-none-any.whl", "0" * 64, 1, 1)

    catalogue.write(tmp_path / "torch" / "cpu.lock", (pin("torch", "2.13.0"),))
    cu12 = (pin("cuda-toolkit", "12.8.1"), pin("nvidia-cublas-cu12", "12.8.4.1"), pin("nvidia-cudnn-cu12", "9.10.0.56"))
    catalogue.write(tmp_path / "torch" / "cu12.lock", cu12)
    catalogue.write(tmp_path / "torch" / "cu13.lock", (pin("nvidia-cuda-runtime", "13.0.96"),))
    catalogue.write(tmp_path / "torch" / "cu13@2.12.0.lock", (pin("cuda-toolkit", "13.0.0"),))
    rows = table.read()
    monkeypatch.setattr(catalogue, "images_root", lambda: tmp_path)
    monkeypatch.setattr(table, "read", lambda: rows)
    assert variants.cuda_variants("torch") == {"cu12": "12.8.1", "cu13": "13.0"}
    assert variants.cuda_variants("torch", "2.12.0") == {"cu13": "13.0.0"}
    here = Nvidia(driver="570.124.06", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))
    choice = variants.choose("torch", here)
    assert choice.variant == "cu12"
    assert "Version 9.10.0.56 of cuDNN is known to compute wrongly" in choice.warnings[0]
    assert variants.choose("torch", Nvidia(driver=None, problem="there is none")).variant is None
