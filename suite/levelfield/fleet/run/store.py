"""The folders of fleets: `fleets/NAME/` under the reports folder, each with its journal and its nodes' runs."""

from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.fleet.run.events import FORMAT, Begun, Event
from levelfield.fleet.run.state import State, fold
from levelfield.record.append_only import AppendOnly, NamedJournals
from levelfield.record.files import JOURNAL

MAX_BYTES = 64 << 20
"""Longest journal that is read: a node has some hundred bytes for each attempt."""
_ALL: NamedJournals[Event] = NamedJournals("fleet", "a", "fleets", FORMAT, MAX_BYTES, msgspec.json.Decoder(Event))
folder, names = _ALL.folder, _ALL.names


class Journal(AppendOnly[Event]):
    """The open journal of a fleet, as `AppendOnly` says.

    Parameters
    ----------
    path
        The file, in the fleet's folder.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            busy=f"The fleet {path.parent.name} is being measured",
            wait="Wait until that has ended, or end it.",
            unwritable=f"Free space on that disk, or let this user write there; then add --resume {path.parent.name}.",
        )


def create(begun: Begun, reports: Path) -> None:
    """Make the folder of a fleet, and write the first line of its journal.

    Raises LevelfieldError: there is one of that name, or the folder cannot be written.
    """
    target = _ALL.make_folder(begun.name, reports)
    with Journal(target / JOURNAL) as journal:
        if journal.path.stat().st_size:
            raise LevelfieldError(
                f"There is a fleet called {begun.name} already.",
                fix=f"Give another name, or go on with that one: add --resume {begun.name}.",
            )
        journal.write(begun)


def load(name: str, reports: Path) -> State:
    """Read how far a fleet is.

    Raises LevelfieldError: there is none of that name, its journal is of a newer version, or it is damaged.
    """
    return fold(_ALL.read(name, reports))
