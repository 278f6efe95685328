"""The error that a user sees: what happened, and how to fix it."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline: escape sequences begin with one
    r"\u2028\u2029\ud800-\udfff\ufffe\uffff"  # separators of lines, and what no encoding or XML holds
    # Unicode's category Cf, marks of direction among it, and all that its property Default_Ignorable_Code_Point names:
    r"\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    r"\u2800\U00013441\U00013442\U00016fe4\U0001d159]"  # signs that are blank: of Braille, scripts and music
)
"""Characters that are not seen, or that change how others are seen: two names that look alike are the same name."""


LONGEST = 900
"""Longest message and fix, in characters: untrusted names that they quote may have any length."""
_BEGINNING, _END = 600, 250


class LevelfieldError(Exception):
    """An expected error; `message` says what happened, `fix` what to do, or is empty: each is one sentence.

    The middle of one above `LONGEST` characters is left out. `exit_code`: 1 worse, 2 could not run, 3 not decided.
    """

    def __init__(self, message: str, *, fix: str = "", exit_code: int = 2) -> None:
        self.message = _shortened(message)
        self.fix = _shortened(fix)
        super().__init__(f"{self.message} {self.fix}".rstrip())
        self.exit_code = exit_code


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    end = text[-_END:]
    first = end.find(" ") + 1
    return f"{shortened(text, _BEGINNING).rstrip(' …')} … {end[first if first < _END // 2 else 0 :]}"


_FOLDERS = re.compile(
    r"(?<=[\"'])(?:~|\.{1,2})?/(?!proc/|sys/|dev/)(?:[^\"'\n/]*/)*"  # in quotes, names of folders may have blanks
    r"|(?:(?<![\w./~-])|(?<=file://))(?:~|\.{1,2})?/(?!/|proc/|sys/|dev/)(?:[^\s/'\"`:;,()<>|=]+/)*(?=[^\s/])"
)


def with_bare_file_names(text: str) -> str:
    """Return a text in which files are named without the folders that they are in: a record is published."""
    return _FOLDERS.sub("", text.replace(f"{Path.home()}/", "/"))


def printable(text: str) -> str:
    """Return a text in which a sign stands for each character that is not seen."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def printable_json(text: str) -> str:
    """Return JSON of the same value, in which characters that are not seen are escapes."""
    return UNPRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def shortened(text: str, longest: int) -> str:
    """Return a text of so many characters at the most, cut off with an ellipsis, after a word where one is near."""
    if len(text) <= longest:
        return text
    end = text.rfind(" ", longest // 2, longest)
    return f"{text[: end if end > 0 else longest - 1].rstrip()}…"


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
