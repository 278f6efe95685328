"""The folders of fleets: `fleets/NAME/` under the reports folder, each with its journal and its nodes' runs."""

from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.fleet.run.events import FORMAT, Begun, Event
from suite.fleet.run.state import State, fold
from suite.names import FILE_NAME, check_file_name, unknown
from suite.record.append_only import AppendOnly, read_lines
from suite.record.files import JOURNAL
from suite.safety import untrusted

FOLDER = "fleets"
MAX_BYTES = 64 << 20
"""Longest journal that is read: a node has some hundred bytes for each attempt."""
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class _Version(msgspec.Struct):
    format: int = 0


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


def folder(name: str, reports: Path) -> Path:
    """Return the folder of a fleet.

    Parameters
    ----------
    name, reports
        Of the fleet, and the folder of run folders.

    Raises
    ------
    LevelfieldError
        The name cannot be a folder's.
    """
    check_file_name("A fleet", name)
    return reports / FOLDER / name


def names(reports: Path) -> list[str]:
    """Return the names of all fleets of a reports folder."""
    found = (path.parent.name for path in (reports / FOLDER).glob(f"*/{JOURNAL}"))
    return sorted(name for name in found if FILE_NAME.fullmatch(name))


def create(begun: Begun, reports: Path) -> None:
    """Make the folder of a fleet, and write the first line of its journal.

    Parameters
    ----------
    begun
        What every node measures.
    reports
        Folder of run folders.

    Raises
    ------
    LevelfieldError
        There is one of that name, or the folder cannot be written.
    """
    target = folder(begun.name, reports)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LevelfieldError(
            f"{target} cannot be made: {error.strerror or error}.", fix="Choose another folder with --reports."
        ) from error
    with Journal(target / JOURNAL) as journal:
        if journal.path.stat().st_size:
            raise LevelfieldError(
                f"There is a fleet called {begun.name} already.",
                fix=f"Give another name, or go on with that one: add --resume {begun.name}.",
            )
        journal.write(begun)


def load(name: str, reports: Path) -> State:
    """Read how far a fleet is.

    Parameters
    ----------
    name, reports
        Of the fleet, and the folder of run folders.

    Raises
    ------
    LevelfieldError
        There is none of that name, its journal is of a newer version, or it is damaged.
    """
    path = folder(name, reports) / JOURNAL
    if not path.is_file():
        raise unknown("fleet", name, names(reports))
    try:
        content = untrusted.read_plain(path, MAX_BYTES)
    except OSError as error:
        raise LevelfieldError(
            f"{path} cannot be read: {error.strerror or error}.", fix="Let this user read it, or name another fleet."
        ) from error
    _check_format(content)
    events = read_lines(content, _decoder)
    return fold(events)


def _check_format(content: bytes) -> None:
    try:
        found = msgspec.json.decode(content.split(b"\n", 1)[0], type=_Version).format
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return  # the fold says that the line is damaged
    if found > FORMAT:
        raise LevelfieldError(
            f"The fleet was begun with a newer Levelfield: its journal has format {found}, and this one reads "
            f"{FORMAT}.",
            fix="Use the newer Levelfield.",
        )
