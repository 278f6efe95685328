"""The one error a user sees: a sentence that says what happened, and what to do about it."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class LevelfieldError(Exception):
    """Something ended; `message` says what, `fix` what to do.

    Parameters
    ----------
    message
        One sentence.
    fix
        One sentence, or empty where nothing can be done.
    exit_code
        1 worse, 2 could not run, 3 inconclusive.
    """

    def __init__(self, message: str, *, fix: str = "", exit_code: int = 2) -> None:
        super().__init__(f"{message} {fix}".rstrip())
        self.message = message
        self.fix = fix
        self.exit_code = exit_code


def printable(text: str) -> str:
    """Return a text without control characters: what a stranger wrote must not speak to the terminal itself."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
