"""Interface of what displays a run's progress: it is called between windows and never during one."""

from typing import Protocol

from levelfield.record.schema import Warning_


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
    """Display nothing."""

    def say(self, text: str) -> None: ...

    def generation(self, case: str, index: int, planned: int) -> None: ...

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None: ...

    def done(self, share: float, seconds_left: float | None) -> None: ...

    def warn(self, warning: Warning_) -> None: ...
