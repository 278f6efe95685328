"""The table of what fits together: `images/compatibility.toml`, read and checked; and how versions are compared."""

import re
import tomllib
from pathlib import Path

import msgspec
from packaging.version import Version

from levelfield.errors import LevelfieldError
from levelfield.paths import images_root
from levelfield.untrusted import convert

_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")


def key(version: str) -> Version:
    """Return a version as it is compared; zeros at the end do not count.

    Raises ValueError: it is not numbers with points between them.

    Examples
    --------
    >>> key("570.124.06") > key("570.26")
    True
    >>> key("12.8") == key("12.8.0")
    True
    """
    if not is_version(version):
        raise ValueError(f"{version[:40]!r} is not a version made of numbers.")
    return Version(version)


def is_version(text: str) -> bool:
    """Say whether a text can be compared as a version."""
    return _VERSION.fullmatch(text) is not None


def minor(version: str) -> tuple[int, int]:
    """Return major and minor number: (12, 8) of 12.8.1."""
    return key(version).major, key(version).minor


def within(version: str, low: str | None, high: str | None) -> bool:
    """Say whether a version is at least `low` and below `high`; a bound that is None is open.

    `low`, `high`: bounds; None: open.
    """
    return (low is None or key(version) >= key(low)) and (high is None or key(version) < key(high))


NAME = "compatibility.toml"
SCHEMA = 1


class Family(msgspec.Struct, frozen=True):
    """All releases of one major version of CUDA."""

    minimum_driver: str
    """Enough to run any of them, by minor-version compatibility."""
    minimum_compute_capability: str
    """GPUs below it have no code in these releases."""


class Range(msgspec.Struct, frozen=True, rename={"low": "from", "high": "below"}, forbid_unknown_fields=True):
    """Versions from `low` on and below `high`; a bound that is None is open."""

    low: str | None = None
    high: str | None = None

    def contains(self, version: str | None) -> bool:
        """Return whether a version is within the bounds; one that is not known is not."""
        return version is not None and within(version, self.low, self.high)


class LibraryRange(Range, frozen=True, kw_only=True):
    """Versions of a library."""

    library: str


class Rule(LibraryRange, frozen=True, kw_only=True):
    """A combination that is known to compute wrongly. Every field that is there must be met."""

    effect: str
    remedy: str
    source: str
    capability: Range | None = None
    gpus_at_least: int = 1
    beside: LibraryRange | None = None
    precision: str | None = None


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    family: dict[str, Family]
    """By major version."""
    release: dict[str, str]
    """Release to its minimum driver."""
    known_bad: tuple[Rule, ...] = ()


class Requirement(msgspec.Struct, frozen=True):
    """What a release needs."""

    release: str
    family: Family
    driver: str | None
    """With which everything works; None where the table does not know the release's minor version."""


def read(path: Path | None = None) -> Table:
    """Read the table.

    Raises LevelfieldError: it is not there, or has a line that means nothing.
    """
    file = path or images_root() / NAME
    try:
        table = convert(tomllib.loads(file.read_text(encoding="utf-8")), Table)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _unusable(file, f"cannot be read: {error}") from error
    if table.schema != SCHEMA:
        raise _unusable(file, f"has schema {table.schema}, and this Levelfield reads {SCHEMA}")
    for version in _versions(table):
        if not is_version(version):
            raise _unusable(file, f"holds {version[:40]!r}, which is no version")
    return table


def _unusable(file: Path, what: str) -> LevelfieldError:
    return LevelfieldError(f"The table {file.name} {what}.", fix="Install levelfield again.")


def _versions(table: Table) -> list[str]:
    found = [*table.family, *table.release, *table.release.values()]
    for family in table.family.values():
        found += [family.minimum_driver, family.minimum_compute_capability]
    for rule in table.known_bad:
        ranges: list[Range | None] = [rule, rule.capability, rule.beside]
        found += [bound for one in ranges if one for bound in (one.low, one.high) if bound is not None]
    return found


def requirement(table: Table, release: str) -> Requirement | None:
    """Return what a CUDA release needs; None where the table does not know its family.

    A patch release that the table lacks needs what the highest listed one of its minor version needs.
    """
    family = table.family.get(str(minor(release)[0]))
    if family is None:
        return None
    exact = next((name for name in table.release if key(name) == key(release) and release.count(".") > 1), None)
    same = [name for name in table.release if minor(name) == minor(release)]
    listed = exact or max(same, key=key, default=None)
    return Requirement(release=release, family=family, driver=table.release[listed] if listed else None)


def newest_patches(table: Table) -> list[str]:
    """Return the highest listed release of each minor version, in ascending order."""
    best: dict[tuple[int, int], str] = {}
    for name in sorted(table.release, key=key):
        best[minor(name)] = name
    return list(best.values())
