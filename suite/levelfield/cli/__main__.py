"""Start of the command, by its script or by `python -m levelfield.cli`: an interrupt at any moment is one sentence."""

import os
import signal
from types import FrameType
from typing import NoReturn

INTERRUPTED = 2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start() -> NoReturn:
    """Import the command, which takes a second, and run it."""
    for each in SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _leave)
    from levelfield.cli.main import main

    for each in SIGNALS:
        if signal.getsignal(each) is _leave:
            signal.signal(each, _interrupt)
    try:
        main()
    except KeyboardInterrupt:  # another one, while the first was answered
        _leave(0, None)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End at once: nothing was begun, and an exception could be lost in the middle of an import."""
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as Ctrl-C does: workers stopped, what was measured kept."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    start()
