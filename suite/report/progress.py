"""Progress of a run in the terminal: what is measured now, the estimates so far, the time left.

Drawn between windows only, by the thread that would otherwise sleep: a refreshing thread would take CPU time from what
is measured.
"""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from suite.record.schema import Warning_
from suite.report import units

LOG_EVERY_S = 10.0
"""Seconds between two lines on rounds at the least, where the output is not a terminal."""


class Terminal:
    """A listener that redraws a display, or prints lines where the output is not a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._case = ""
        self._detail = ""
        self._estimates: dict[str, float] = {}
        self._share = 0.0
        self._left: float | None = None
        self._logged_s = 0.0
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.update(Text(""), refresh=True)
            self._live.stop()

    def say(self, text: str) -> None:
        if self._live is None:
            self._console.print(f"[dim]{escape(text)}[/]", highlight=False)
            return
        self._case, self._detail, self._estimates = "preparing", text, {}
        self._draw()

    def generation(self, case: str, index: int, planned: int) -> None:
        of = f" of {planned}" if index < planned else ""
        self._case = f"{case} · generation {index + 1}{of}"
        self._detail, self._estimates = "launching and loading", {}
        if self._live is None:
            self._console.print(escape(self._case), highlight=False)
        self._draw()

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None:
        self._detail, self._estimates = text, estimates_ns
        if self._live is None and time.monotonic() - self._logged_s > LOG_EVERY_S:
            self._logged_s = time.monotonic()
            self._console.print(f"[dim]  {escape(text)}[/]", highlight=False)
        self._draw()

    def done(self, share: float, seconds_left: float | None) -> None:
        self._share, self._left = share, seconds_left
        self._draw()

    def warn(self, warning: Warning_) -> None:
        console = self._live.console if self._live is not None else self._console
        console.print(f"[yellow]Note:[/] {escape(warning.message)} {escape(warning.remedy)}", highlight=False)

    def _draw(self) -> None:
        if self._live is not None:
            self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        elapsed = _clock(time.monotonic() - self._began)
        left = f"about {_clock(self._left)} left" if self._left is not None else "time left not known yet"
        head = Table.grid(padding=(0, 2))
        head.add_row(
            ProgressBar(total=1.0, completed=self._share, width=30), f"{self._share:4.0%}", elapsed, f"[dim]{left}[/]"
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
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
