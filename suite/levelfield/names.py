"""Names that a user gives: the error for an unknown one, with close matches; and nouns with their number."""

import difflib
import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from levelfield.errors import LevelfieldError

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MOST_NAMES = 50
GROUP_SPACE = "\u202f"
"""Between groups of three digits, where no line break is allowed (U+202F, narrow no-break space)."""


def check_file_name(what: str, name: str) -> None:
    """Refuse a name that cannot be that of a file or folder on every system.

    Raises LevelfieldError: the name is too long, or holds other characters.
    """
    if not FILE_NAME.fullmatch(name):
        raise LevelfieldError(
            f"{what} cannot be called {name[:80]!r}.",
            fix="Use up to 64 letters, digits, dots, hyphens and underscores.",
        )


def unknown(kind: str, name: str, known: Iterable[str]) -> LevelfieldError:
    """Return the error for a name that is not known: it suggests close matches, else all known names.

    >>> print(unknown("image", "troch", ["torch", "jax"]))
    There is no image called 'troch'. Did you mean 'torch'?
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        fix = "Did you mean " + " or ".join(f"{each!r}" for each in close) + "?"
    else:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        fix = f"Known: {', '.join(names[:MOST_NAMES])}{more}." if names else ""
    return LevelfieldError(f"There is no {kind} called {name!r}.", fix=fix)


def count(number: int) -> str:
    """`27 421`, with thin spaces."""
    return f"{number:,}".replace(",", GROUP_SPACE)


def plural(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun: `1 launch`, `5 launches`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


_T = TypeVar("_T", bound=msgspec.Struct)


def made_of(kind: type[_T], *sources: msgspec.Struct, **fields: Any) -> _T:  # noqa: ANN401  (fields of any types)
    """Return a struct with these fields, and with all others that one of the sources has by the same name."""
    for source in sources:
        found = {name: getattr(source, name) for name in source.__struct_fields__ if name in kind.__struct_fields__}
        fields = found | fields
    return kind(**fields)
