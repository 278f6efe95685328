import hashlib
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import debian
from levelfield.images.debian import MIRRORS, missing
from levelfield.record.bases import BaseLock, Package
from tests.servers import Sources


def _digest(*packages: Package, base: str = "slim") -> str:
    return debian.digest(BaseLock(release="bookworm", architecture="amd64", epoch=0, packages=packages), base)


def test_the_digest_follows_versions_and_not_order() -> None:
    one = debian.read_lock().packages[0]
    other = msgspec.structs.replace(one, version="2.0")
    assert _digest(one, other) == _digest(other, one)
    assert _digest(one) != _digest(other)
    assert _digest(one) != _digest()


CONTENT = b"package"
PATH = "pool/updates/main/t/tiny/tiny_1.0_all.deb"


def _lock(content: bytes = CONTENT) -> BaseLock:
    package = Package(
        name="tiny",
        version="1.0",
        architecture="all",
        sha256=hashlib.sha256(content).hexdigest(),
        sha1=hashlib.sha1(content, usedforsecurity=False).hexdigest(),
        size_bytes=len(content),
        installed_bytes=1,
        archive="debian-security",
        path=PATH,
        bases=("slim",),
    )
    return BaseLock(release="bookworm", architecture="amd64", epoch=1_700_000_000, packages=(package,))


@pytest.mark.parametrize(
    "content", [None, b"packages" + b".a" * 200_000 + b" = 1", b"#" * (debian.MAX_LOCK_BYTES + 1), b"\xff"]
)
def test_a_lock_in_a_folder_is_read_within_bounds(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / debian.file_name("slim")
    os.mkfifo(file) if content is None else file.write_bytes(content)
    with pytest.raises(LevelfieldError, match=r"cannot be read|is no lock of a base"):
        debian.lock_of("slim", tmp_path)


def test_a_package_is_fetched_once(sources: Sources) -> None:
    sources.chosen.files[f"/debian-security/{PATH}"] = CONTENT
    lock = _lock()
    assert missing(lock, "slim") == lock.packages
    for _ in range(2):
        (file,) = debian.fetch(lock, "slim")
        assert file.read_bytes() == CONTENT
    assert sources.asked() == [1, 0, 0, 0]
    assert debian.fetch(lock, "toolchain") == ()


@pytest.mark.parametrize(
    "place",
    [
        ("host", f"debian-security/{PATH}"),
        ("public", f"debian-security/{PATH}"),
        ("public", "debian/pool/main/t/tiny/tiny_1.0_all.deb"),  # a point release took it over
        ("snapshot", f"file/{_lock().packages[0].sha1}"),
        ("snapshot", f"archive/debian-security/20231114T221320Z/{PATH}"),
        ("snapshot", f"archive/debian-security/20231115T221320Z/{PATH}"),
        ("snapshot", f"archive/debian-security/20231121T221320Z/{PATH}"),
    ],
)
def test_what_mirrors_lost_is_found_where_it_still_is(place: tuple[str, str], sources: Sources) -> None:
    server, path = place
    getattr(sources, server).files[f"/{path}"] = CONTENT
    (file,) = debian.fetch(_lock(), "slim")
    assert file.read_bytes() == CONTENT


def test_what_is_lost_everywhere_is_named_with_what_to_do(sources: Sources) -> None:
    with pytest.raises(LevelfieldError, match=r"tiny 1\.0 cannot be fetched: no such file at 127") as caught:
        debian.fetch(_lock(), "slim")
    assert "nox -s lock" in caught.value.fix
    assert "--base registry" in caught.value.fix


def test_mirrors_of_the_machine_are_read_in_both_forms(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRRORS, raising=False)
    (apt / "sources.list").write_text(
        "# deb http://commented.test/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] http://one.test/debian/ bookworm main contrib\n"
        "deb-src http://source.test/debian bookworm main\n"
        "deb http://one.test/debian bookworm-updates main\n"
        "deb http://security.one.test bookworm-security main\n"
        "deb http://archive.ubuntu.test/ubuntu noble main\n"
        "deb https://vendor.test/linux bookworm stable\n"
        "deb cdrom:[Debian]/ bookworm main\n"
    )
    (apt / "sources.list.d" / "debian.sources").write_text(
        "Types: deb deb-src\nURIs: http://two.test/debian http://three.test/debian\nSuites: trixie trixie-updates\n"
        "Components: main\n# with a comment\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
        "Types: deb\nURIs: http://two.test/security\nSuites: trixie-security\nComponents: main\n\n"
        "Enabled: no\nTypes: deb\nURIs: http://off.test/debian\nSuites: trixie\nComponents: main\n"
    )
    found = debian.mirrors()
    assert found["debian"][:-1] == ("http://one.test/debian", "http://two.test/debian", "http://three.test/debian")
    assert found["debian-security"][:-1] == ("http://security.one.test", "http://two.test/security")


@pytest.mark.extended
@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt on this machine")
def test_the_bases_resolve_to_what_is_read_again(checkout: Path) -> None:
    written = debian.lock_bases()
    assert debian.read_lock() == written
    assert {"python3", "dpkg", "libc6"} <= {package.name for package in written.packages_of("slim")}
    assert "apt" not in {package.name for package in written.packages}
    assert {"g++", "libpython3.11-dev"} <= {package.name for package in written.packages_of("toolchain")}
    assert all(len(package.sha1) == 40 for package in written.packages)
    assert debian.lock_bases() == written
