"""The CUDA variants of an image."""

import platform
from pathlib import Path

import pytest

from levelfield.compatibility import table
from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.images import architectures, catalogue, debian, registries, variants, version_locks
from levelfield.images.architectures import AARCH64, VARIABLE, X86_64
from levelfield.paths import images_root


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


@pytest.fixture
def aarch64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "arm64")


@pytest.mark.parametrize(
    ("machine", "expected"),
    [("x86_64", X86_64), ("aarch64", AARCH64), ("arm64", AARCH64), ("AMD64", X86_64), ("riscv64", X86_64)],
)
def test_images_are_made_for_this_machine(
    machine: str, expected: architectures.Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert architectures.current() == expected


@pytest.mark.usefixtures("aarch64")
def test_the_variable_decides_and_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert architectures.current() == AARCH64
    monkeypatch.setenv(VARIABLE, "riscv64")
    with pytest.raises(
        LevelfieldError, match=r"There are no locks for riscv64\. There are some for x86_64 and aarch64"
    ):
        architectures.current()


@pytest.mark.usefixtures("aarch64")
def test_every_wheel_and_package_of_a_lock_is_for_its_architecture() -> None:
    locked = {path.parent.name for path in (images_root() / AARCH64.folder).glob("*/cpu.lock")}
    assert {"onnxruntime", "torch", "jax", "openvino", "exporter", "canary"} <= locked
    for name in sorted(locked):
        lock = catalogue.lock(name)
        assert lock.architecture == AARCH64
        for pin in lock.pins:
            assert pin.file.endswith(("_aarch64.whl", "-any.whl")), (name, pin.file)
    for release in set(debian.BASES.values()):
        packages = debian.read_lock(release)
        assert packages.architecture == "arm64"
        assert {package.architecture for package in packages.packages} == {"arm64", "all"}


@pytest.mark.usefixtures("aarch64")
def test_frameworks_have_the_versions_of_x86_64_but_for_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [path.parent.name for path in (images_root() / AARCH64.folder).glob("*/cpu.lock")]
    there = {name: catalogue.current_version(name) for name in names}
    monkeypatch.setenv(VARIABLE, X86_64.name)
    here = {name: catalogue.current_version(name) for name in names}
    assert {name for name in names if there[name] != here[name]} == {"torch"}, "newer ones are on another index"


@pytest.mark.usefixtures("aarch64")
def test_what_is_not_locked_for_it_says_so() -> None:
    with pytest.raises(LevelfieldError, match=r"The image tensorrt has no lock for aarch64\."):
        catalogue.lock("tensorrt")


@pytest.mark.usefixtures("aarch64")
def test_resolvers_are_asked_for_its_wheels() -> None:
    assert "aarch64-manylinux_2_36" in version_locks.target("3.11")
    tags = registries.wheel_platform_arguments("3.11")
    assert {"manylinux_2_28_aarch64", "manylinux2014_aarch64", "linux_aarch64"} <= set(tags)
    assert not [tag for tag in tags if "x86" in tag or "manylinux1_" in tag]


def test_a_lock_says_what_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pins = catalogue.lock("canary").pins
    monkeypatch.setenv(VARIABLE, "aarch64")
    catalogue.write(tmp_path / "cpu.lock", pins, "3.11")
    assert catalogue.read(tmp_path / "cpu.lock").architecture == AARCH64
    unknown = (tmp_path / "cpu.lock").read_text(encoding="utf-8").replace("Linux aarch64", "Linux riscv64")
    (tmp_path / "cpu.lock").write_text(unknown, encoding="utf-8")
    with pytest.raises(LevelfieldError, match="There are no locks for riscv64"):
        catalogue.read(tmp_path / "cpu.lock")
