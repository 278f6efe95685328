import msgspec

from levelfield.images import debian
from levelfield.record.bases import BaseLock, Package


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
