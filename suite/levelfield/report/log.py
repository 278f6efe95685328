"""Progress where the output is no terminal, such as in CI or under nohup: lines with the time and what is left.

A line is `[12:03:07 +4 min 10 s] 38 % · about 7 min left · bert/latency/fp32/b1 · generation 3 of 5 · round 7 of 24`.
"""

import time
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Self

from rich.console import Console

from levelfield.record.schema import Warning_
from levelfield.report import units
from levelfield.report.remaining import Remaining
from levelfield.safety import terminals

EVERY_S = 10.0
"""Seconds between two lines on one case at the least."""


def _local_time() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")


class Log:
    """A listener that prints lines: one for each step and each new case, and others `EVERY_S` apart.

    Parameters
    ----------
    console
        Where to print.
    now
        Seconds of a clock that only goes forward.
    local_time
        Time of day, `12:03:07`.
    """

    def __init__(
        self,
        console: Console,
        *,
        now: Callable[[], float] = time.monotonic,
        local_time: Callable[[], str] = _local_time,
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        left = self._remaining.text(self._now(), units.roughly)
        self._print(" · ".join(filter(None, (share, left, self._case, self._generation, detail))))

    def _print(self, text: str) -> None:
        now = self._now()
        self._printed_s = now
        terminals.say(self._console, f"[{self._local_time()} +{units.duration(now - self._began_s)}] {text}")
