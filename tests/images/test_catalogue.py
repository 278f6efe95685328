"""The CUDA variants of an image."""

import platform
import re
from pathlib import Path

import pytest

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, debian
from levelfield.images.catalogue import AARCH64, ARCHITECTURE_VARIABLE, X86_64
from levelfield.record.references import split_python

SHARED = ("msgspec", "numpy", "nvidia-ml-py", "psutil")


def test_every_image_has_a_known_base_and_every_backend_on_a_cpu_a_lock() -> None:
    for name, image in catalogue.images().items():
        assert image.base in {"slim", "toolchain"}
        assert catalogue.lock_names(name) or catalogue.unlocked(name), name
    for name in (*registry.names(), *registry.names_where_named()):
        assert catalogue.lock(registry.get(name).image).pins
    assert {"torch", "tensorflow", "jax", "onnxruntime", "openvino", "exporter", "canary"} <= set(catalogue.images())
    # Its wheels are on an index of NVIDIA's own; what the default index has under these names pins nothing.
    assert catalogue.unlocked("tensorrt") == ("cu13",)


LOCKED = [(name, *entry) for name in catalogue.images() for entry in catalogue.lock_names(name) if entry[1] is None]


def test_workers_speak_through_the_same_versions_everywhere() -> None:
    """An image whose own requirements name one of them (an old framework's NumPy) has another of that one alone."""
    everywhere = catalogue.lock("torch").versions
    assert everywhere.keys() >= set(SHARED)
    for name, variant, _ in LOCKED:
        versions = catalogue.lock(name, variant).versions
        assert versions.keys() >= set(SHARED)
        shared = {line.partition("==")[0] for line in catalogue.of_workers(name, variant)}
        assert {each for each in SHARED if versions[each] != everywhere[each]} <= set(SHARED) - shared, name
        assert set(SHARED) - shared <= {"numpy"}, name


def test_the_lock_holds_what_the_requirements_ask_for() -> None:
    for name, variant, _ in LOCKED:
        asked = "\n".join([catalogue.source(name, variant).read_text(), *catalogue.of_workers(name, variant)])
        pinned = {f"{pin.name}=={pin.version}" for pin in catalogue.lock(name, variant).pins}
        wanted = re.findall(r"^([a-z][\w.-]*)(?:\[\S+\])?(==\S+)", asked, flags=re.MULTILINE)
        assert {"".join(each) for each in wanted} <= pinned


@pytest.mark.parametrize("line", ["numpy==2.4.6", "numpy==2.4.6 --hash=sha256:00", "--index-url something"])
def test_a_line_that_pins_no_wheel_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cpu.lock"
    path.write_text(catalogue.lock("canary").path.read_text() + line + "\n")
    with pytest.raises(LevelfieldError, match="pins no wheel") as caught:
        catalogue.read(path)
    assert line in caught.value.message


def test_every_named_lock_is_the_framework_at_that_version() -> None:
    named = [(name, *entry) for name in catalogue.images() for entry in catalogue.lock_names(name) if entry[1]]
    assert ("onnxruntime", "cpu", "1.30.0") in named
    assert ("jax", "cpu", "0.10.2-py3.11") in named
    for name, variant, version in named:
        framework, lock = catalogue.framework(name), catalogue.lock(name, variant, version)
        assert framework is not None
        of_framework, python = split_python(version)
        own = of_framework or catalogue.current_version(name, variant)
        assert lock.versions[framework].partition("+")[0] == own
        assert lock.python == (python or catalogue.python_for(name, variant))


def test_the_base_lock_names_exact_packages() -> None:
    lock = debian.read_lock()
    for base in ("slim", "toolchain"):
        assert debian.lock_of(base) == lock
        names = {package.name for package in lock.packages_of(base)}
        assert set(debian.package_names(base)) <= names
        assert "dpkg" in names  # Debian's required packages are locked too
    assert {package.name for package in lock.packages_of("slim")} < {
        package.name for package in lock.packages_of("toolchain")
    }
    newer = debian.lock_of("slim-trixie")
    assert newer.release == "trixie"
    assert set(debian.package_names("slim-trixie")) <= {package.name for package in newer.packages_of("slim-trixie")}
    for package in (*lock.packages, *newer.packages):
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
        assert package.path.startswith("pool/")
        assert package.architecture in {"amd64", "all"}


@pytest.fixture
def aarch64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ARCHITECTURE_VARIABLE, "arm64")


@pytest.mark.parametrize(("machine", "expected"), [("x86_64", X86_64), ("aarch64", AARCH64), ("riscv64", X86_64)])
def test_images_are_made_for_this_machine(
    machine: str, expected: catalogue.Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ARCHITECTURE_VARIABLE, raising=False)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert catalogue.current_architecture() == expected


@pytest.mark.usefixtures("aarch64")
def test_the_variable_decides_and_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert catalogue.current_architecture() == AARCH64
    monkeypatch.setenv(ARCHITECTURE_VARIABLE, "riscv64")
    with pytest.raises(
        LevelfieldError, match=r"There are no locks for riscv64\. There are some for x86_64 and aarch64"
    ):
        catalogue.current_architecture()
