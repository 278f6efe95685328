"""What a base was made of: every Debian package, as a lock and the record of a run name it.

A record may be a stranger's: names become names of files, and places become addresses below a mirror, so both have a
form.
"""

from typing import Annotated, Literal

import msgspec

_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class Package(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One locked Debian package."""

    name: Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9][a-z0-9+.-]{0,100}\Z")]
    version: Annotated[str, msgspec.Meta(pattern=r"\A[0-9][A-Za-z0-9.+:~-]{0,100}\Z")]
    architecture: Annotated[str, msgspec.Meta(pattern=r"\A(amd64|arm64|all)\Z")]
    sha256: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    sha1: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{40}\Z")]
    """By it Debian's archive of all files finds it; which file it is, `sha256` says."""
    size_bytes: _Count
    installed_bytes: _Count
    archive: Literal["debian", "debian-security"]
    path: Annotated[str, msgspec.Meta(pattern=r"\Apool/(?:[A-Za-z0-9][\w.+:~%-]{0,120}/){1,6}[\w.+:~%-]{1,250}\.deb\Z")]
    """Inside the archive."""
    bases: tuple[str, ...]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.name} {self.version}"

    @property
    def file(self) -> str:
        """File name in the cache; the colon of a version is escaped as apt does it."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


class BaseLock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`images/base.lock`, or that of another release: every package of every base that is made of it."""

    release: Annotated[str, msgspec.Meta(pattern=r"\A[a-z]{1,30}\Z")]
    architecture: Annotated[str, msgspec.Meta(pattern=r"\A(amd64|arm64)\Z")]
    epoch: Annotated[int, msgspec.Meta(ge=0, le=1 << 34)]
    """When the packages were chosen, in seconds since 1970; nothing in the base is newer."""
    packages: Annotated[tuple[Package, ...], msgspec.Meta(max_length=2000)]

    def packages_of(self, base: str) -> tuple[Package, ...]:
        """Return the packages of one base."""
        return tuple(package for package in self.packages if base in package.bases)

    def only(self, base: str) -> "BaseLock":
        """Return the lock of one base alone."""
        packages = tuple(msgspec.structs.replace(package, bases=(base,)) for package in self.packages_of(base))
        return msgspec.structs.replace(self, packages=packages)
