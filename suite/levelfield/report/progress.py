"""Progress of a run: what is measured now, the estimates so far, the time left; in a log where there is no terminal.

Drawn between windows only, by the thread that would otherwise sleep: a refreshing thread would take CPU time from what
is measured.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from levelfield.record.schema import Warning_
from levelfield.report import units
from levelfield.report.log import Log
from levelfield.report.remaining import Remaining
from levelfield.safety import terminals


def opened(console: Console) -> "Terminal | Log":
    """Return what shows progress on a console: a display that is redrawn, or the lines of a log.

    Colours can be forced where there is no terminal (`FORCE_COLOR`); a display cannot, since it moves the cursor.
    """
    return Terminal(console) if _redraws(console) else Log(console)


def steps(console: Console) -> Callable[[str], None]:
    """Return what reports that a step begins, for commands that measure nothing: one line for each."""
    return (lambda text: terminals.say(console, text, "dim")) if _redraws(console) else Log(console).say


def _redraws(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal and console.file.isatty()


class Terminal:
    """A listener that redraws a display."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)
        self._case = ""
        self._detail = ""
        self._estimates: dict[str, float] = {}
        self._began = time.monotonic()
        self._remaining = Remaining(at_s=self._began)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.update(Text(""), refresh=True)
        self._live.stop()

    def say(self, text: str) -> None:
        self._case, self._detail, self._estimates = "preparing", text, {}
        self._draw()

    def generation(self, case: str, index: int, planned: int) -> None:
        of = f" of {planned}" if index < planned else ""
        self._case = f"{case} · generation {index + 1}{of}"
        self._detail, self._estimates = "launching and loading", {}
        self._draw()

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None:
        self._detail, self._estimates = text, estimates_ns
        self._draw()

    def done(self, share: float, seconds_left: float | None) -> None:
        self._remaining = Remaining(share, seconds_left, time.monotonic())
        self._draw()

    def warn(self, warning: Warning_) -> None:
        self._live.console.print(
            f"[yellow]Note:[/] {escape(warning.message)} {escape(warning.remedy)}", highlight=False
        )

    def _draw(self) -> None:
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        now, share = time.monotonic(), self._remaining.share
        elapsed, left = _clock(now - self._began), self._remaining.text(now, _clock)
        head = Table.grid(padding=(0, 2))
        head.add_row(
            ProgressBar(total=1.0, completed=share, width=30),
            f"{share:4.0%}",
            elapsed,
            f"[dim]{left}[/]",
        )
        parts: list[RenderableType] = [
            head,
            Text(self._case, style="bold"),
            Text(self._detail, style="dim"),
        ]
        if self._estimates:
            table = Table.grid(padding=(0, 2))
            for arm, median_ns in sorted(self._estimates.items(), key=lambda entry: entry[1]):
                if arm != "canary":
                    table.add_row(f"  {escape(arm)}", units.time(median_ns))
            parts.append(table)
        return Group(*parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
