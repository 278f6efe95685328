"""Named locks: the versions near one that does not exist."""

import pytest

from suite.images import version_locks


@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        ("1.30.1", ("1.29.0", "1.30.0", "1.31.0", "1.31.1")),
        ("2", ("1.31.0", "1.31.1")),
        ("0.1", ("1.9.0", "1.26.0")),
    ],
)
def test_near_is_by_number(version: str, nearest: tuple[str, ...]) -> None:
    there = ("1.31.1", "1.31.0", "1.30.0", "1.29.0", "1.26.0", "1.9.0")
    assert version_locks.nearest(version, there) == nearest
