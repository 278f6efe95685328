import shutil
from pathlib import Path

import pytest

from levelfield.images import debian, debian_resolving


@pytest.mark.extended
@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt on this machine")
def test_the_bases_resolve_to_what_is_read_again(checkout: Path) -> None:
    written = debian_resolving.lock_bases()
    assert debian.read_lock() == written
    assert {"python3", "dpkg", "libc6"} <= {package.name for package in written.packages_of("slim")}
    assert "apt" not in {package.name for package in written.packages}
    assert {"g++", "libpython3.11-dev"} <= {package.name for package in written.packages_of("toolchain")}
    assert all(len(package.sha1) == 40 for package in written.packages)
    assert debian_resolving.lock_bases() == written
