"""Which windows of the runs in a reports folder are on the disk, and which of them are gone later."""

from collections import Counter
from pathlib import Path

import msgspec

from suite.record import journal
from suite.record.files import JOURNAL
from suite.record.journal import RoundDone, TurnTaken


class Held(msgspec.Struct, frozen=True):
    """What the journal of one run holds."""

    rounds: int
    windows: tuple[TurnTaken, ...]


def held(reports: Path) -> dict[str, Held]:
    """Return what the journals under a reports folder hold, by run."""
    found = {}
    for path in sorted(reports.glob(f"*/{JOURNAL}")):
        events = journal.read(path)
        windows = tuple(each for each in events if isinstance(each, TurnTaken) and each.turn.window is not None)
        found[path.parent.name] = Held(sum(isinstance(each, RoundDone) for each in events), windows)
    return found


def missing(before: dict[str, Held], after: dict[str, Held]) -> int:
    """Count windows that were there before, and are not there after."""
    return sum(sum((_counted(one) - _counted(after.get(run, Held(0, ())))).values()) for run, one in before.items())


def _counted(one: Held) -> Counter[bytes]:
    return Counter(map(msgspec.json.encode, one.windows))
