"""Texts that tests look at: with ordinary spaces, and what is printed."""

import io
from collections.abc import Callable

from rich.console import Console

from levelfield.report import units


def plain(text: str) -> str:
    return text.replace(units.NBSP, " ").replace(units.GROUP_SPACE, " ")


def printed(show: Callable[[Console], object], width: int = 200) -> str:
    """Return what is printed to a file of this width."""
    stream = io.StringIO()
    show(Console(file=stream, width=width))
    return stream.getvalue()
