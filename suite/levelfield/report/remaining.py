"""How much of a run is done, and how long the rest takes."""

from collections.abc import Callable

import msgspec


class Remaining(msgspec.Struct, frozen=True):
    """What was last known of a run's end."""

    share: float = 0.0
    """What is done, between 0 and 1."""
    seconds_left: float | None = None
    """An estimate at that moment; None where there is none."""
    at_s: float = 0.0
    """When that was, in seconds of the clock that `text` is called with."""

    def text(self, now_s: float, written: Callable[[float], str]) -> str:
        """Return the time left in words; the estimate counts down until there is another one.

        `written`: writes a number of seconds.
        """
        if self.seconds_left is None:
            return "time left not known yet"
        return f"about {written(max(0.0, self.seconds_left - (now_s - self.at_s)))} left"
