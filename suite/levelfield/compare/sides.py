"""Find runs by id, folder or file; each is read, checked and reduced."""

import contextlib
import gc
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from levelfield.analysis import guarded
from levelfield.compare.reduction import Reduced, reduce
from levelfield.errors import LevelfieldError
from levelfield.names import unknown
from levelfield.record import files


def find(name: str, reports: Path) -> Path:
    """Return the record's file of a run that a person named.

    Raises LevelfieldError: there is no such run; or it has no record yet.
    """
    for path in (reports / name, Path(name)):
        if path.is_file():
            return path
        if files.has_record(path):
            return files.file_of(path)
        if (path / files.JOURNAL).is_file():
            raise LevelfieldError(
                f"The run {path} was cut off before its record was written.", fix="Finish it with bench --resume."
            )
    if Path(name).is_dir():
        raise LevelfieldError(f"The folder {name} holds no record.", fix="Name a run's own folder.")
    raise unknown("run", name, [path.name for path in files.runs_in(reports)])


def load(file: Path) -> Reduced:
    """Read a record and keep what a comparison needs of it.

    Raises LevelfieldError: with one sentence: it cannot be read, is no record, or holds numbers that no measurement
    gives.
    """
    return from_content(files.content_of(file), str(file))


def from_content(content: bytes, name: str) -> Reduced:
    """Check the content of a record, which is not trusted, and keep what a comparison needs of it.

    Raises LevelfieldError: with one sentence: it is no record, or holds numbers that no measurement gives.
    """
    with _without_garbage_collection():
        run = guarded.decode(content, name)
        with guarded.computing(name):
            return reduce(run, hashlib.sha256(content).hexdigest())


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
