"""The folders of upgrades: `upgrades/NAME/` under the reports folder, each with its journal."""

from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import AppendOnly
from levelfield.record.files import JOURNAL
from levelfield.record.named_journals import NamedJournals
from levelfield.upgrade.events import FORMAT, Begun, Event
from levelfield.upgrade.progress import State, fold

MAX_BYTES = 16 << 20
"""Longest journal that is read: an event has a kilobyte or two."""
_ALL: NamedJournals[Event] = NamedJournals("upgrade", "an", "upgrades", FORMAT, MAX_BYTES, msgspec.json.Decoder(Event))
folder, names = _ALL.folder, _ALL.names


class Journal(AppendOnly[Event]):
    """The open journal of an upgrade, as `AppendOnly` says.

    Parameters
    ----------
    path
        The file, in the upgrade's folder.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            busy=f"The upgrade {path.parent.name} is being measured",
            wait="Wait until that has ended: `levelfield upgrade status` says how far it is.",
            unwritable="Free space on that disk, or let this user write there; then run `levelfield upgrade next`.",
        )


def create(begun: Begun, reports: Path) -> State:
    """Make the folder of an upgrade, and write the first line of its journal.

    Raises LevelfieldError: there is one of that name, or the folder cannot be written.
    """
    target = _ALL.make_folder(begun.name, reports)
    with Journal(target / JOURNAL) as journal:
        if journal.path.stat().st_size:
            raise LevelfieldError(
                f"There is an upgrade called {begun.name} already.",
                fix="Give another name, or go on with that one: levelfield upgrade next.",
            )
        journal.write(begun)
    return load(begun.name, reports)


def load(name: str, reports: Path) -> State:
    """Read an upgrade.

    Raises LevelfieldError: there is none of that name, its journal is of a newer version, or it is damaged.
    """
    return fold(_ALL.read(name, reports))


def open_one(reports: Path) -> str:
    """Return the name of the one upgrade that is not done.

    Returns empty where all upgrades are done. Raises LevelfieldError: there is no upgrade, or several are not done.
    """
    known = names(reports)
    if not known:
        raise LevelfieldError(
            f"There is no upgrade under {reports}.", fix="Begin one with `levelfield upgrade begin NAME`."
        )
    found = [name for name in known if load(name, reports).phase is not None]
    if len(found) > 1:
        raise LevelfieldError(f"{len(found)} upgrades are not done: {', '.join(found)}.", fix="Name one of them.")
    return found[0] if found else ""
