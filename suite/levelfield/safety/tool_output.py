"""Texts that another tool printed: on one line, printable and bounded."""

import re

from levelfield.errors import LevelfieldError, one_line

LONGEST = 200
"""Characters that are kept of a text."""
LARGEST = 1e18
"""Largest value that is believed: thirty years in nanoseconds."""
_IDENTIFIER = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")


def text(value: str) -> str:
    """Return a text on one line, printable, without the UUIDs of devices, and at most `LONGEST` characters long."""
    return one_line(_IDENTIFIER.sub(r"\1-…", value), LONGEST)


def refused(tool: str, why: str) -> LevelfieldError:
    """Return the error for output of a tool that cannot be read; `why` is a clause without a full stop."""
    return LevelfieldError(
        f"The output of {tool} cannot be read: {text(why)}.", fix="Record it again, whole and as the tool prints it."
    )
