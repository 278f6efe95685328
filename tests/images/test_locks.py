from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.images import catalogue, debian, debian_lock, locks


@pytest.mark.parametrize("name", ["canary", "onnxruntime"])
def test_resolving_again_gives_wheels_with_names_hashes_and_sizes(checkout: Path, name: str) -> None:
    (checkout / "images" / name / "cpu.lock").unlink()
    lock = locks.lock_image(name)
    assert lock.path == checkout / "images" / name / "cpu.lock"
    asked = [pin for pin in lock.pins if f"{pin.name}==" in (checkout / "images" / "worker.in").read_text()]
    assert len(asked) == 4
    assert all(pin.installed_bytes > pin.size_bytes > 1000 for pin in lock.pins)
    assert str(checkout) not in lock.path.read_text()


def test_frozen_requirements_give_the_committed_lock(checkout: Path) -> None:
    before = catalogue.lock("canary")
    assert locks.lock_image("canary") == before


def test_a_named_version_has_requirements_and_a_lock_of_its_own(checkout: Path) -> None:
    folder = checkout / "images" / "canary"
    (folder / "cpu@older.in").write_text("numpy==2.3.5\n")
    lock = locks.lock_image("canary", "cpu", "older")
    assert [(pin.name, pin.version) for pin in lock.pins] == [("numpy", "2.3.5")]
    assert catalogue.lock_names("canary") == (("cpu", None), ("cpu", "older"))
    assert catalogue.lock("canary", "cpu", "older") == lock
    assert catalogue.lock("canary") != lock


def test_what_cannot_be_resolved_is_a_sentence_and_the_old_lock_stays(checkout: Path) -> None:
    folder = checkout / "images" / "canary"
    before = (folder / "cpu.lock").read_bytes()
    (folder / "requirements.in").write_text("numpy==0.0.99\n")
    with pytest.raises(LevelfieldError, match=r"requirements\.in of canary cannot be resolved") as caught:
        locks.lock_image("canary")
    assert "numpy==0.0.99" in caught.value.message
    assert "://" not in caught.value.message
    assert (folder / "cpu.lock").read_bytes() == before


def test_the_bases_resolve_to_what_is_read_again(checkout: Path) -> None:
    written = debian_lock.lock_bases()
    assert debian.read_lock() == written
    assert {"python3", "dpkg", "libc6"} <= {package.name for package in written.of("slim")}
    assert "apt" not in {package.name for package in written.packages}
    assert {"g++", "libpython3.11-dev"} <= {package.name for package in written.of("toolchain")}
    assert debian_lock.lock_bases() == written
