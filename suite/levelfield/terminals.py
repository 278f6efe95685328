"""Text of others on its way out, to a terminal, into Markdown or an error: shown, never interpreted.

Escape sequences, other control characters and marks of writing direction can hide or forge output. Every console of the
command is created here and replaces them in everything that it prints, after styles and markup are resolved; the escape
sequences of styles are added by rich later.
"""

import atexit
import errno
import io
import os
import re
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment

from levelfield.errors import LevelfieldError, one_line, printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


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
    width = 80 if os.environ.get("COLUMNS") == "0" else None  # in none rich prints nothing
    made = Console(stderr=stderr, width=width, emoji=False)  # a name may have colons
    made.push_render_hook(_Hook())
    return made


class PrintableText:
    """A text stream that makes printable what is written to it.

    `stream`: where it is written to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; return the number of characters."""
        return self._stream.write(printable(text))


def write(text: str) -> None:
    """Write plain text, made printable, to stdout."""
    PrintableText(sys.stdout).write(text)


class _Standard(io.FileIO):
    """Standard output or error: once nobody reads it, what is written goes nowhere, and the exit code stays."""

    def write(self, content: "ReadableBuffer") -> int:
        try:
            return super().write(content) or 0
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if error.errno not in (errno.EPIPE, errno.EIO):  # EIO: the terminal hung up
                raise OSError(error.errno, error.strerror, "standard output") from error
            return len(memoryview(content))


class _Text(io.TextIOWrapper):
    """Standard output or error: at its end the process lets no thread that still runs write.

    A daemon thread that the interpreter stops within a write keeps the lock of the buffer, and the last flush is fatal.
    """

    def __init__(self, buffer: io.BufferedWriter, *, encoding: str, line_buffering: bool) -> None:
        super().__init__(buffer, encoding=encoding, errors="replace", line_buffering=line_buffering)
        self._writing = threading.RLock()
        atexit.register(self._writing.acquire)

    def write(self, text: str) -> int:
        with self._writing:
            return super().write(text)

    def flush(self) -> None:
        with self._writing:
            super().flush()


def guard_streams() -> None:
    """Let no stream of the command change how it ends: one that is closed, that nobody reads, or of few characters."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free: else the next file would take its place
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        if name != "stdin" and stream is getattr(sys, f"__{name}__"):
            raw = _Standard(descriptor, "w", closefd=False)
            encoding = stream.encoding if stream is not None else "utf-8"
            lines = raw.isatty() or name == "stderr"
            setattr(sys, name, _Text(io.BufferedWriter(raw), encoding=encoding, line_buffering=lines))


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a line as it is, without markup or highlighting, never cut or wrapped; a name in it makes no second one."""
    text = text.replace("\n", "\N{REPLACEMENT CHARACTER}")
    console.print(text, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)


def show(console: Console, parts: Iterable[RenderableType]) -> None:
    """Print parts one below the other, without markup or highlighting."""
    for part in parts:
        console.print(part, highlight=False, markup=False)


LONGEST = 1000
LONGEST_CODE = 300
"""Characters that are shown."""
_MARKS = re.compile(r"[\\`*_\[\]<>|~&$]|^#")
_LINKS = re.compile(r"(?<=[@#!])(?=\w)|(?<=://)|(?<=www)(?=\.)|(?<=mailto:)|(?<=\bGH-)(?=\d)", re.IGNORECASE)


def markdown_text(value: str) -> str:
    """Escape a text: no markup, no HTML, no link, no mention of a person or an issue.

    A word joiner splits what would be linked automatically, since mentions are searched after backslashes are removed.
    """
    return _LINKS.sub("&NoBreak;", _MARKS.sub(_escaped, one_line(value, LONGEST)))


def markdown_code(value: str) -> str:
    """Format a text as code; its backticks become apostrophes, so that it cannot end the code."""
    shown = one_line(value, LONGEST_CODE).replace("`", "'").replace("|", "\\|").strip()
    return f"`{shown}`" if shown else "–"


def _escaped(found: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", "$": "&dollar;"}.get(found[0], f"\\{found[0]}")


LONGEST_OUTPUT = 200
"""Characters that are kept of a text."""
LARGEST = 1e18
"""Largest value that is believed: thirty years in nanoseconds."""
_IDENTIFIER = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")


def tool_text(value: str) -> str:
    """Return a text on one line, printable, without the UUIDs of devices, at most `LONGEST_OUTPUT` characters."""
    return one_line(_IDENTIFIER.sub(r"\1-…", value), LONGEST_OUTPUT)


def refused(tool: str, why: str) -> LevelfieldError:
    """Return the error for output of a tool that cannot be read; `why` is a clause without a full stop."""
    return LevelfieldError(
        f"The output of {tool} cannot be read: {tool_text(why)}.",
        fix="Record it again, whole and as the tool prints it.",
    )
