import hashlib
from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.images import debian
from suite.images.debian import BaseLock, Package

apt = pytest.mark.skipif(not debian._HELPER.exists(), reason="no apt on this machine")


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror of one package, on disk."""
    for archive in ("debian", "debian-security"):
        (tmp_path / archive / "pool").mkdir(parents=True)
    (tmp_path / "debian" / "pool" / "tiny_1.0_all.deb").write_bytes(b"package")
    uris = [(tmp_path / archive).as_uri() for archive in ("debian", "debian-security")]
    monkeypatch.setenv(debian.MIRRORS, " ".join(uris))
    return tmp_path


def _lock(*, version: str = "1.0", content: bytes = b"package", archive: str = "debian") -> BaseLock:
    package = Package(
        name="tiny",
        version=version,
        architecture="all",
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        installed_bytes=1,
        archive=archive,
        path=f"pool/tiny_{version}_all.deb",
        bases=("slim",),
    )
    return BaseLock(release="bookworm", architecture="amd64", epoch=0, packages=(package,))


@apt
def test_packages_come_from_the_mirror_and_are_kept(mirror: Path, cache: Path) -> None:
    lock = _lock()
    assert debian.missing(lock, "slim") == lock.packages
    (file,) = debian.fetch(lock, "slim")
    assert file.read_bytes() == b"package"
    assert debian.missing(lock, "slim") == ()
    assert debian.fetch(lock, "toolchain") == ()


@apt
def test_a_version_that_the_mirror_no_longer_has_is_named_with_what_to_do(mirror: Path, cache: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"no longer has tiny 0\.9") as caught:
        debian.fetch(_lock(version="0.9"), "slim")
    assert "nox -s lock" in caught.value.fix
    assert "--base registry" in caught.value.fix


@apt
def test_a_mirror_with_another_file_stops(mirror: Path, cache: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"other files than the locked ones: tiny 1\.0"):
        debian.fetch(_lock(content=b"what was locked"), "slim")


def test_a_package_changed_in_the_cache_stops_with_file_expected_and_found(mirror: Path, cache: Path) -> None:
    lock = _lock()
    folder = cache / "debs"
    folder.mkdir(parents=True)
    (folder / lock.packages[0].file).write_bytes(b"tampered")
    with pytest.raises(LevelfieldError) as caught:
        debian.fetch(lock, "slim")
    assert "tiny_1.0_all.deb" in caught.value.message
    assert lock.packages[0].sha256 in caught.value.message
    assert hashlib.sha256(b"tampered").hexdigest() in caught.value.message


def test_the_digest_follows_versions_and_not_order() -> None:
    one, other = _lock().packages[0], _lock(version="2.0").packages[0]

    def lock(*packages: Package) -> BaseLock:
        return BaseLock(release="bookworm", architecture="amd64", epoch=0, packages=packages)

    assert debian.digest(lock(one, other), "slim") == debian.digest(lock(other, one), "slim")
    assert debian.digest(lock(one), "slim") != debian.digest(lock(other), "slim")
    assert debian.digest(lock(one), "slim") != debian.digest(lock(one), "toolchain")


def test_a_version_with_an_epoch_is_a_legal_file_name() -> None:
    package = next(package for package in debian.read_lock().packages if ":" in package.version)
    assert ":" not in package.file


@pytest.mark.extended
def test_the_bases_resolve_to_what_is_read_again(checkout: Path) -> None:
    written = debian.lock_bases()
    assert debian.read_lock() == written
    assert {"python3", "dpkg", "libc6"} <= {package.name for package in written.packages_of("slim")}
    assert "apt" not in {package.name for package in written.packages}
    assert {"g++", "libpython3.11-dev"} <= {package.name for package in written.packages_of("toolchain")}
    assert debian.lock_bases() == written
