"""Output to a terminal: untrusted text is shown, never interpreted.

Escape sequences, other control characters and marks of writing direction can hide or forge output. Every console of the
command is created here and replaces them in everything that it prints, after styles and markup are resolved; the escape
sequences of styles are added by rich later.
"""

import sys
from typing import TextIO

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from levelfield.errors import printable


class _Printable:
    """A renderable whose text is printable."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


class _Hook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Printable(each) for each in renderables]


def console(*, stderr: bool = False) -> Console:
    """Return a console on stdout, or on stderr, that prints nothing but text and its own styles."""
    made = Console(stderr=stderr)
    made.push_render_hook(_Hook())
    return made


class PrintableText:
    """A text stream that makes printable what is written to it.

    Parameters
    ----------
    stream
        Where it is written to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; return the number of characters."""
        return self._stream.write(printable(text))


def write(text: str) -> None:
    """Write plain text, made printable, to stdout."""
    PrintableText(sys.stdout).write(text)


def never_refuse() -> None:
    """Let stdout and stderr replace characters that their encoding lacks, instead of raising `UnicodeEncodeError`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a text as it is, without markup or highlighting; lines are never cut or wrapped.

    `style`: as rich names it, such as `yellow`; None: plain.
    """
    console.print(text, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)
