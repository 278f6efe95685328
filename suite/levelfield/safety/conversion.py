"""Plain values to typed ones, from any thread.

msgspec looks a type's annotations up when it first meets the type. Two threads that do that at once for the same type
crash the interpreter (seen with msgspec 0.22 while two images were built at once), so one waits for the other.
"""

import threading
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_ONE_AT_A_TIME = threading.Lock()


def convert(value: object, kind: type[_T]) -> _T:
    """Return a value made of dicts, lists and plain values as the type that describes it.

    Raises msgspec.ValidationError: it is not what the type says.
    """
    with _ONE_AT_A_TIME:
        found: Any = msgspec.convert(value, kind)
    return found  # type: ignore[no-any-return]
