"""Find runs by id, folder or file; each is read, checked and reduced."""

import contextlib
import gc
from collections.abc import Iterator, Sequence
from pathlib import Path

from suite.analysis import guarded
from suite.compare.reduction import Reduced, reduce
from suite.errors import LevelfieldError
from suite.names import unknown
from suite.record import files


def find(name: str, reports: Path) -> Path:
    """Return the record's file of a run that a person named.

    Parameters
    ----------
    name
        A run's id under `reports`, a run's folder, or a `run.json`; tried in this order.
    reports
        Folder of run folders.

    Raises
    ------
    LevelfieldError
        There is no such run; or it has no record yet.
    """
    for path in (reports / name, Path(name)):
        if path.is_file():
            return path
        if (path / files.NAME).is_file():
            return path / files.NAME
        if (path / files.JOURNAL).is_file():
            raise LevelfieldError(
                f"The run {path} was cut off before its record was written.", fix="Finish it with bench --resume."
            )
    if Path(name).is_dir():
        raise LevelfieldError(f"The folder {name} holds no {files.NAME}.", fix="Name a run's own folder.")
    known = [path.parent.name for path in reports.glob(f"*/{files.NAME}")] if reports.is_dir() else []
    raise unknown("run", name, known)


def load(file: Path) -> Reduced:
    """Read a record and keep what a comparison needs of it.

    Raises
    ------
    LevelfieldError
        With one sentence: it cannot be read, is no record, or holds numbers that no measurement gives.
    """
    with _without_garbage_collection():
        record = guarded.read(file)
        with guarded.computing(record.name):
            return reduce(record.run, record.sha256, record.analysis)


def load_all(records: Sequence[Path]) -> list[Reduced]:
    """Read records one after the other: only what is kept of each is in memory at a time."""
    return [load(record) for record in records]


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Put the collector off: looking through a record's million objects, none of them in a cycle, takes longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
