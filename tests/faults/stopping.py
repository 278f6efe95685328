"""`levelfield` with a fault at one event of its journal: `python -m tests.faults.stopping EVENT FAULT FOLDER WORDS…`.

It kills itself once an event is on the disk, or in the middle of writing it, or waits there until FOLDER holds the
file `go`, so that another process can do harm at that very moment.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from levelfield.cli.main import main as levelfield
from levelfield.record import journal
from levelfield.record.journal import Event, Journal

REACHED, GO = "reached", "go"
"""Files in the folder: the event was reached; go on."""
PAUSE_S = 0.005


def main(words: list[str]) -> None:
    number, fault, folder, *command = words
    journal.Journal.write = _at(int(number), fault, Path(folder), Journal.write)  # type: ignore[method-assign]
    sys.argv = ["levelfield", *command]
    levelfield()


def _at(number: int, fault: str, folder: Path, write: Callable[[Journal, Event], None]) -> Callable[..., None]:
    written = 0

    def writing(self: Journal, event: Event) -> None:
        nonlocal written
        written += 1
        if written == number and fault == "torn":
            line = msgspec.json.encode(event)
            self._file.write(line[: len(line) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, event)
        if written != number:
            return
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        (folder / REACHED).touch()
        while not (folder / GO).exists():
            time.sleep(PAUSE_S)

    return writing


if __name__ == "__main__":
    main(sys.argv[1:])
