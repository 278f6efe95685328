"""Resolving the packages of the bases."""

from pathlib import Path

from suite.images import debian, debian_lock


def test_the_bases_resolve_to_what_is_read_again(checkout: Path) -> None:
    written = debian_lock.lock_bases()
    assert debian.read_lock() == written
    assert {"python3", "dpkg", "libc6"} <= {package.name for package in written.packages_of("slim")}
    assert "apt" not in {package.name for package in written.packages}
    assert {"g++", "libpython3.11-dev"} <= {package.name for package in written.packages_of("toolchain")}
    assert debian_lock.lock_bases() == written
