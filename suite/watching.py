"""What a run tells whoever watches it, between windows and never during one."""

from typing import Protocol

from suite.records.schema import Warning_


class Watcher(Protocol):
    """Somebody who watches a run: a terminal, a log, or nobody."""

    def say(self, text: str) -> None:
        """A step that takes a moment begins."""
        ...

    def generation(self, case: str, index: int, planned: int) -> None:
        """A block's next generation begins."""
        ...

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None:
        """A round (or a launch) has ended; `estimates_ns` holds the median call of every arm so far."""
        ...

    def done(self, share: float, seconds_left: float | None) -> None:
        """So much of the whole is done; the time left is a guess from what the same blocks took before."""
        ...

    def warn(self, warning: Warning_) -> None: ...


class Silent:
    """Nobody watches."""

    def say(self, text: str) -> None: ...

    def generation(self, case: str, index: int, planned: int) -> None: ...

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None: ...

    def done(self, share: float, seconds_left: float | None) -> None: ...

    def warn(self, warning: Warning_) -> None: ...
