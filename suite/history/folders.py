"""From run folders to the store: what is new is entered, what is broken is named and skipped."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import msgspec

from suite.errors import LevelfieldError
from suite.history import summary
from suite.history.store import Store
from suite.history.summary import Summary
from suite.record import files

Progress: TypeAlias = Callable[[str], None]


class Skipped(msgspec.Struct, frozen=True):
    """A folder whose record could not be entered, and why."""

    folder: str
    reason: str


class Outcome(msgspec.Struct, frozen=True):
    """Result of entering a folder of runs."""

    found: int
    """Folders with a record."""
    entered: int
    analysed: int
    """Records that had no summary that fits, and were analysed again."""
    skipped: tuple[Skipped, ...]
    seconds: float


def enter_new(store: Store, reports: Path, progress: Progress) -> Outcome:
    """Enter the runs of a folder that the store does not hold yet.

    A summary beside a record is used where it names the record's size.

    Parameters
    ----------
    store
        An open store.
    reports
        Folder of run folders.
    progress : callable
        Called with a short line before a record is analysed.

    Raises
    ------
    LevelfieldError
        The folder cannot be read, or the store fails. A record that is broken is skipped and listed instead.
    """
    known = store.sizes()
    folders = [folder for folder in files.runs_in(reports) if known.get(folder.name) != _size(folder)]
    return _enter(store, folders, known, progress, verify=False)


def rebuild(address: str, reports: Path, progress: Progress, *, own: bool) -> Outcome:
    """Build the store again from the records, each compared with its summary by digest.

    Parameters
    ----------
    reports, progress
        As in `enter_new`.
    address
        URL of the store.
    own
        Whether it belongs to this folder alone: then a new one replaces it,
        however damaged that is. A store that others share keeps their runs; those of this folder are entered again.
    """
    folders = files.runs_in(reports)
    if not own:
        with closing(Store(address)) as store:
            return _enter(store, folders, {}, progress, verify=True, replace=True)
    target = Path(address.removeprefix("sqlite:///"))
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            fresh = Path(folder) / target.name
            with closing(Store(f"sqlite:///{fresh}")) as store:
                outcome = _enter(store, folders, {}, progress, verify=True)
            fresh.replace(target)
    except OSError as error:
        raise LevelfieldError(
            f"The history store {target} cannot be written: {error.strerror or error}.",
            fix="Name the folder of your runs with --reports, or another store with --store.",
        ) from error
    return outcome


def _enter(
    store: Store, folders: list[Path], known: dict[str, int], progress: Progress, *, verify: bool, replace: bool = False
) -> Outcome:
    began = time.monotonic()
    skipped: list[Skipped] = []
    chosen: dict[str, Summary] = {}
    analysed = 0
    for folder, run, is_new in _summaries(folders, known, skipped, verify=verify, progress=progress):
        analysed += is_new
        other = chosen[run.id].record_bytes if run.id in chosen else known.get(run.id)
        if folder.name == run.id or other is None:  # of folders with one run id, the one of that name is entered
            chosen[run.id] = run
        elif other != run.record_bytes:
            skipped.append(Skipped(folder.name, f"its run id {run.id} belongs to another record"))
    entered = store.enter(chosen.values(), replace=replace)
    return Outcome(len(folders), entered, analysed, tuple(skipped), time.monotonic() - began)


def _summaries(
    folders: list[Path], known: dict[str, int], skipped: list[Skipped], *, verify: bool, progress: Progress
) -> Iterator[tuple[Path, Summary, bool]]:
    """Yield each folder with its summary, and whether the record was analysed for it."""
    for number, folder in enumerate(folders, start=1):
        found = summary.kept(folder, verify=verify)
        if found is not None:
            yield folder, found, False
            continue
        if known.get(summary.record_id(folder)) == _size(folder):  # a renamed folder of a run that is there
            continue
        progress(f"analysing {folder.name} ({number} of {len(folders)})")
        try:
            yield folder, summary.from_record(folder), True
        except LevelfieldError as error:
            skipped.append(Skipped(folder.name, error.message))
        except Exception as error:  # noqa: BLE001  (a stranger's record may break the analysis in any way)
            skipped.append(Skipped(folder.name, f"its analysis ended with {error.__class__.__name__}: {error}"))


def _size(folder: Path) -> int | None:
    try:
        return (folder / files.NAME).stat().st_size
    except OSError:
        return None
