"""Progress of a run: what is measured now, the estimates so far, the time left.

Where the output is no terminal, such as in CI or under nohup, it is a log, with lines such as
`[12:03:07 +4 min 10 s] 38 % · about 7 min left · bert/latency/fp32/b1 · generation 3 of 5 · round 7 of 24`.

Drawn between windows only, by the thread that would otherwise sleep: a refreshing thread would take CPU time from what
is measured.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Self

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from levelfield import terminals
from levelfield.record.schema import Warning_
from levelfield.report import units


class Remaining(msgspec.Struct, frozen=True):
    """What was last known of a run's end."""

    share: float = 0.0
    """What is done, between 0 and 1."""
    seconds_left: float | None = None
    """An estimate at that moment; None where there is none."""
    at_s: float = 0.0
    """When that was, in seconds of the clock that `text` is called with."""

    def text(self, now_s: float) -> str:
        """Return the time left in words; the estimate counts down until there is another one."""
        if self.seconds_left is None:
            return "time left not known yet"
        left_s = max(0.0, self.seconds_left - (now_s - self.at_s))
        if self.seconds_left and left_s < 1:
            return "longer than expected"
        return f"about {units.roughly(left_s)} left"


EVERY_S = 10.0
"""Seconds between two lines on one case at the least."""


def _clock() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")


class Log:
    """A listener that prints lines: one for each step and each new case, and others `EVERY_S` apart."""

    def __init__(
        self, console: Console, *, now: Callable[[], float] = time.monotonic, local_time: Callable[[], str] = _clock
    ) -> None:
        self._console = console
        self._now = now
        self._local_time = local_time
        self._began_s = now()
        self._printed_s = self._began_s
        self._case = ""
        self._generation = ""
        self._remaining = Remaining(at_s=self._began_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing to undo."""

    def say(self, text: str) -> None:
        self._print(text)

    def generation(self, case: str, index: int, planned: int) -> None:
        other = case != self._case
        self._case, self._generation = case, f"generation {index + 1}{f' of {planned}' if index < planned else ''}"
        if other or self._due():
            self._print_position()

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None:  # noqa: ARG002 (a line has no room)
        if self._due():
            self._print_position(text)

    def done(self, share: float, seconds_left: float | None) -> None:
        self._remaining = Remaining(share, seconds_left, self._now())

    def warn(self, warning: Warning_) -> None:
        self._print(f"Note: {warning.message} {warning.remedy}")

    def _due(self) -> bool:
        return self._now() - self._printed_s >= EVERY_S

    def _print_position(self, detail: str = "") -> None:
        share = f"{100 * self._remaining.share:.0f} %"
        left = self._remaining.text(self._now())
        self._print(" · ".join(filter(None, (share, left, self._case, self._generation, detail))))

    def _print(self, text: str) -> None:
        now = self._now()
        self._printed_s = now
        terminals.say(self._console, f"[{self._local_time()} +{units.duration(now - self._began_s)}] {text}")


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

    def __exit__(self, *_: object) -> None:
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
        elapsed, left = units.duration(now - self._began), self._remaining.text(now)
        head = Table.grid(padding=(0, 2))
        head.add_row(ProgressBar(total=1.0, completed=share, width=30), f"{share:4.0%}", elapsed, f"[dim]{left}[/]")
        parts: list[RenderableType] = [head, Text(self._case, style="bold"), Text(self._detail, style="dim")]
        if self._estimates:
            table = Table.grid(padding=(0, 2))
            for arm, median_ns in sorted(self._estimates.items(), key=lambda entry: entry[1]):
                if arm != "canary":
                    table.add_row(f"  {escape(arm)}", units.time(median_ns))
            parts.append(table)
        return Group(*parts)
