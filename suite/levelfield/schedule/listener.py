"""Interface of what displays a run's progress: it is called between windows and never during one."""

import threading
import time
from typing import Protocol, Self

from levelfield.record.schema import Warning_

SAID_EVERY_S = 10.0
"""A compiler or an installation may take minutes, in which a user has to see what is waited for."""


class ProgressListener(Protocol):
    """A display of a run's progress: a terminal, a log, or none."""

    def say(self, text: str) -> None:
        """Report that a step begins which takes a moment."""
        ...

    def generation(self, case: str, index: int, planned: int) -> None:
        """Report that a block's next generation begins.

        `index`, `planned`: index of the generation, from 0, and how many are planned at present.
        """
        ...

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None:
        """Report that a round (or a launch) has ended. `estimates_ns`: median call so far, in nanoseconds, by arm."""
        ...

    def done(self, share: float, seconds_left: float | None) -> None:
        """Report how much of the run is done.

        `seconds_left`: an estimate from what the same blocks took before; None where there is none.
        """
        ...

    def warn(self, warning: Warning_) -> None: ...


class SilentListener:
    def say(self, text: str) -> None: ...

    def generation(self, case: str, index: int, planned: int) -> None: ...

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None: ...

    def done(self, share: float, seconds_left: float | None) -> None: ...

    def warn(self, warning: Warning_) -> None: ...


class Repeating(SilentListener):
    """Hand steps on, and repeat those that go on every `SAID_EVERY_S`, with the seconds that each has taken.

    Each thread is in the step that it said last, and in none once it has ended, or waits for `run_jobs`: as soon as one
    of those threads says something.
    """

    def __init__(self, listener: ProgressListener) -> None:
        self._listener = listener
        self._steps: dict[threading.Thread, tuple[str, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def say(self, text: str) -> None:
        own = threading.current_thread()
        for waiting in [each for each in list(self._steps) if own.name.startswith(f"{each.name}/")]:
            self._steps.pop(waiting, None)
        self._steps[own] = text, time.monotonic()
        self._listener.say(text)

    def _repeat(self) -> None:
        while not self._ended.wait(SAID_EVERY_S):
            now, known = time.monotonic(), list(self._steps.items())
            steps = [(text, now - began) for thread, (text, began) in known if thread.is_alive()]
            if long := [f"{text} ({seconds:.0f} s)" for text, seconds in steps if seconds >= SAID_EVERY_S / 2]:
                self._listener.say("; ".join(long))
