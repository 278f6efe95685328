"""Versions compared number by number, never as texts and never as decimals: 570.124.06 is newer than 570.26."""

import re

_VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")


def key(version: str) -> tuple[int, ...]:
    """Return a version's numbers, to be compared; zeros at the end do not count.

    Raises
    ------
    ValueError
        It is not numbers with points between them.

    Examples
    --------
    >>> key("570.124.06") > key("570.26")
    True
    >>> key("12.8") == key("12.8.0")
    True
    """
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version[:40]!r} is not a version made of numbers.")
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def is_version(text: str) -> bool:
    """Say whether a text can be compared as a version."""
    return _VERSION.fullmatch(text) is not None


def minor(version: str) -> tuple[int, int]:
    """Return major and minor number: (12, 8) of 12.8.1."""
    numbers = (*key(version), 0, 0)
    return numbers[0], numbers[1]


def within(version: str, low: str | None, high: str | None) -> bool:
    """Say whether a version is at least `low` and below `high`; a bound that is None is open.

    Parameters
    ----------
    version
        Numbers with points between them.
    low, high
        Bounds; None: open.
    """
    numbers = key(version)
    return (low is None or numbers >= key(low)) and (high is None or numbers < key(high))
