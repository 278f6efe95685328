""""""

import hashlib
import time
from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import debian, fetching
from levelfield.images.debian import MIRRORS, missing, read_lock
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


def test_a_version_with_an_epoch_is_a_legal_file_name() -> None:
    package = next(package for package in debian.read_lock().packages if ":" in package.version)
    assert ":" not in package.file


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


def test_a_mirror_with_another_file_is_passed_over(sources: Sources) -> None:
    sources.chosen.files[f"/debian-security/{PATH}"] = b"another"
    sources.snapshot.files[f"/file/{_lock().packages[0].sha1}"] = CONTENT
    (file,) = debian.fetch(_lock(), "slim")
    assert file.read_bytes() == CONTENT


def test_what_is_lost_everywhere_is_named_with_what_to_do(sources: Sources) -> None:
    with pytest.raises(LevelfieldError, match=r"tiny 1\.0 cannot be fetched: no such file at 127") as caught:
        debian.fetch(_lock(), "slim")
    assert "nox -s lock" in caught.value.fix
    assert "--base registry" in caught.value.fix


def test_a_package_changed_in_the_cache_stops_with_file_expected_and_found(cache: Path) -> None:
    lock = _lock()
    folder = cache / "debs"
    folder.mkdir(parents=True)
    (folder / lock.packages[0].file).write_bytes(b"tampered")
    with pytest.raises(LevelfieldError) as caught:
        debian.fetch(lock, "slim")
    assert "tiny_1.0_all.deb" in caught.value.message
    assert lock.packages[0].sha256 in caught.value.message
    assert hashlib.sha256(b"tampered").hexdigest() in caught.value.message


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


def test_a_machine_without_apt_asks_debian_itself(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRRORS, raising=False)
    assert all(len(addresses) == 1 for addresses in debian.mirrors().values())


def test_one_mirror_of_two_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRRORS, "http://mirror.test/debian")
    with pytest.raises(LevelfieldError, match="names 1 addresses"):
        debian.mirrors()


def test_every_host_says_whether_it_has_a_package(sources: Sources) -> None:
    lock = _lock()
    sources.public.files[f"/debian-security/{PATH}"] = CONTENT
    sources.snapshot.delay_s = 1.0
    began = time.monotonic()
    answers = debian.reachable(lock, lock.packages[0], timeout_s=0.5)
    assert time.monotonic() - began < 0.9
    assert [answer.problem for answer in answers] == [
        fetching.Reason.GONE,
        fetching.Reason.GONE,
        None,
        fetching.Reason.SLOW,
    ]
    assert answers[2].host == fetching.host(sources.public.address)


def test_every_locked_package_has_its_address_in_the_archive_of_all_files() -> None:
    lock = read_lock()
    for package in lock.packages:
        assert len(package.sha1) == 40
        assert any(address.endswith(f"/file/{package.sha1}") for address in debian.addresses(lock, package))
