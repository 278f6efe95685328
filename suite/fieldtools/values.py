"""Texts and numbers of a tool's output: bounded, in base units, and absent where the tool gives none."""

import re
from decimal import Decimal

from suite.errors import LevelfieldError, printable
from suite.record.schema import Absent

LONGEST = 200
"""Characters that are kept of a text."""
LARGEST = 1e18
"""Largest value that is believed: an exabyte a second, or thirty years in nanoseconds."""
_IDENTIFIER = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")


def text(value: str) -> str:
    """Return a text on one line, printable, without the UUIDs of devices, and at most `LONGEST` characters long."""
    line = _IDENTIFIER.sub(r"\1-…", printable(" ".join(value.split())))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def scaled(value: str, exponent: int) -> float | Absent:
    """Return a number times a power of ten: `56.38` GB/s with exponent 9 are 56 380 000 000 B/s.

    Parameters
    ----------
    value
        The number as the tool prints it.
    exponent
        Of the power of ten that makes base units of its unit.

    Returns
    -------
    float or Absent
        Absent where it is no number, is negative, or exceeds `LARGEST`.
    """
    try:
        number = float(Decimal(value).scaleb(exponent))
    except (ArithmeticError, ValueError):
        return Absent(f"the tool says {text(value) or 'nothing'}")
    return number if 0 <= number <= LARGEST else Absent(f"the tool says {text(value)}, which cannot be")


def refused(tool: str, why: str) -> LevelfieldError:
    """Return the error for output that cannot be read.

    Parameters
    ----------
    tool
        Name of the tool.
    why
        What is wrong, as a clause without a full stop.
    """
    return LevelfieldError(
        f"The output of {tool} cannot be read: {text(why)}.", fix="Record it again, whole and as the tool prints it."
    )
