"""The error that a user sees: what happened, and how to fix it."""

import contextlib
import re
from collections.abc import Iterator

UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline: escape sequences begin with one
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks of direction (Unicode Bidirectional Algorithm, UAX #9)
    r"\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]"  # separators of lines, and what no encoding or XML holds
)


LONGEST = 900
"""Longest message and fix, in characters: untrusted names that they quote may have any length."""
_BEGINNING, _END = 600, 250


class LevelfieldError(Exception):
    """An expected error; `message` says what happened, `fix` what to do.

    Parameters
    ----------
    message
        One sentence; the middle of one longer than `LONGEST` characters is left out.
    fix
        One sentence, or empty where nothing can be done; shortened likewise.
    exit_code
        1 worse, 2 could not run, 3 inconclusive.
    """

    def __init__(self, message: str, *, fix: str = "", exit_code: int = 2) -> None:
        self.message = _shortened(message)
        self.fix = _shortened(fix)
        super().__init__(f"{self.message} {self.fix}".rstrip())
        self.exit_code = exit_code


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:_BEGINNING]} … {text[-_END:]}"


def printable(text: str) -> str:
    """Return a text whose control characters and marks of direction are replaced, so that a terminal only shows it."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(text: str, longest: int) -> str:
    """Return a text, cut off with an ellipsis where it is longer than so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def one_line(text: str, longest: int = 200) -> str:
    """Return a text on one line, printable, and cut off with an ellipsis beyond so many characters."""
    return shortened(printable(" ".join(text.split())), longest)


def clause(error: object, longest: int = 200) -> str:
    """Return what an error says as a part of a sentence: one short line without its full stop."""
    return one_line(str(error), longest).rstrip(".")


@contextlib.contextmanager
def explained(what: str, fix: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds, OSError where none is named, into a LevelfieldError of this message and fix.

    The reason follows the message, unless that ends with a full stop.
    """
    caught = kinds or (OSError,)
    try:
        yield
    except caught as error:
        said = getattr(error, "strerror", None) or getattr(error, "explanation", None) or error
        raise LevelfieldError(what if what.endswith(".") else f"{what}: {clause(said)}.", fix=fix) from error
