"""The folders of upgrades: `upgrades/NAME/` under the reports folder, each with its journal."""

from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.names import FILE_NAME, check_file_name, unknown
from suite.record.append_only import AppendOnly, read_lines
from suite.record.files import JOURNAL
from suite.safety import untrusted
from suite.upgrade.events import FORMAT, Begun, Event
from suite.upgrade.progress import State, fold

FOLDER = "upgrades"
MAX_BYTES = 16 << 20
"""Longest journal that is read: an event has a kilobyte or two."""
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class _Version(msgspec.Struct):
    format: int = 0


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


def folder(name: str, reports: Path) -> Path:
    """Return the folder of an upgrade.

    Parameters
    ----------
    name, reports
        Of the upgrade, and the folder of run folders.

    Raises
    ------
    LevelfieldError
        The name cannot be a folder's.
    """
    check_file_name("An upgrade", name)
    return reports / FOLDER / name


def names(reports: Path) -> list[str]:
    """Return the names of all upgrades of a reports folder."""
    found = (path.parent.name for path in (reports / FOLDER).glob(f"*/{JOURNAL}"))
    return sorted(name for name in found if FILE_NAME.fullmatch(name))


def create(begun: Begun, reports: Path) -> State:
    """Make the folder of an upgrade, and write the first line of its journal.

    Parameters
    ----------
    begun
        The upgrade as it is declared.
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
                f"There is an upgrade called {begun.name} already.",
                fix="Give another name, or go on with that one: levelfield upgrade next.",
            )
        journal.write(begun)
    return load(begun.name, reports)


def load(name: str, reports: Path) -> State:
    """Read an upgrade.

    Parameters
    ----------
    name, reports
        Of the upgrade, and the folder of run folders.

    Raises
    ------
    LevelfieldError
        There is none of that name, its journal is of a newer version, or it is damaged.
    """
    path = folder(name, reports) / JOURNAL
    if not path.is_file():
        raise unknown("upgrade", name, names(reports))
    try:
        content = untrusted.read_plain(path, MAX_BYTES)
    except OSError as error:
        raise LevelfieldError(
            f"{path} cannot be read: {error.strerror or error}.", fix="Let this user read it, or name another upgrade."
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
            f"The upgrade was begun with a newer Levelfield: its journal has format {found}, and this one reads "
            f"{FORMAT}.",
            fix="Use the newer Levelfield.",
        )


def open_one(reports: Path) -> str:
    """Return the name of the one upgrade that is not done.

    Parameters
    ----------
    reports
        Folder of run folders.

    Returns
    -------
    str
        Empty where all upgrades are done.

    Raises
    ------
    LevelfieldError
        There is no upgrade, or several are not done.
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
