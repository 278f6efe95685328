"""What a test knows to be there, for the type checker too."""

from typing import TypeVar

T = TypeVar("T")


def known(value: T | None) -> T:
    """Return a value that may not be None."""
    assert value is not None
    return value
