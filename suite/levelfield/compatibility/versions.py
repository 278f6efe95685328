"""Versions compared number by number, never as texts and never as decimals: 570.124.06 is newer than 570.26."""

import re

from packaging.version import Version

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
