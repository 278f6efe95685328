"""The CUDA variants of an image."""

import platform

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import architectures, catalogue, debian
from levelfield.images.architectures import AARCH64, VARIABLE, X86_64
from levelfield.paths import images_root


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
