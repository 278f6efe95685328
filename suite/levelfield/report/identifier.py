"""Names such as `onnxruntime/bert/latency/fp32` in narrow columns: lines end after a separator, never within a word."""

import re

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

_PART = re.compile(r"[^/+, ]+[/+, ]*|[/+, ]+")
_WORD = re.compile(r"[^@=#-]+[@=#-]*|[@=#-]+")
"""What a part that is too long for a line is divided into."""


class Identifier:
    """A name that is wrapped between its parts: `tensorflow@2.18.1+frozen=on` after the plus, not after the `2`.

    Where a part is longer than a line, it is wrapped after `@`, `=`, `#` or a hyphen.

    Parameters
    ----------
    name
        Printed as it is, never as markup.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in lines(self._name, options.max_width):
            yield from console.render(Text(line, overflow="fold"), options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        words = (word for part in _PART.findall(self._name) for word in _WORD.findall(part))
        longest = max((cell_len(word.rstrip()) for word in words), default=0)
        return Measurement(longest, cell_len(self._name)).with_maximum(options.max_width)


def lines(name: str, width: int) -> list[str]:
    """Return the lines of a name."""
    parts = _PART.findall(name)
    fitting = (_WORD.findall(part) if cell_len(part.rstrip()) > width else [part] for part in parts)
    found = [""]
    for part in (piece for pieces in fitting for piece in pieces):
        if found[-1] and cell_len(found[-1] + part.rstrip()) > width:
            found[-1] = found[-1].rstrip(" ")
            found.append("")
        found[-1] += part
    return found
