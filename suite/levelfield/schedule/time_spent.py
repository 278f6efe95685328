"""What a run's wall-clock time is spent on, phase by phase."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from levelfield.record.schema import Phase


class Stopwatch:
    """Adds every second to one phase: the innermost that is open, or `other` where none is.

    One thread opens phases. What other threads do meanwhile is in the phase that this one waits in.

    Parameters
    ----------
    clock
        Monotonic, seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._open: list[Phase] = ["other"]
        self._seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Add the time within the block to a phase, less that of the phases within it."""
        self._add()
        self._open.append(name)
        try:
            yield
        finally:
            self._add()
            self._open.pop()

    def take(self) -> dict[str, float]:
        """Return the seconds of each phase since they were taken last; together they are the time that has passed."""
        self._add()
        taken, self._seconds = self._seconds, {}
        return taken

    def _add(self) -> None:
        now = self._clock()
        phase = self._open[-1]
        self._seconds[phase] = self._seconds.get(phase, 0.0) + now - self._since
        self._since = now
