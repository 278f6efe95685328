"""The records of a fleet: FOLDER/<node>/<run>, or FOLDER/<node> itself.

The folders may have been copied together from machines that are not trusted. No link is followed, a folder with more
entries than a fleet has is not looked through, and a record that is damaged or hostile costs only itself. A record of
some megabytes takes a tenth of a second, nearly all of it to decode and check it, so that many are read in two
processes. Only what a verdict needs of a record is kept (`analysis.summary`).
"""

import gc
import hashlib
import itertools
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import msgspec

from levelfield import untrusted
from levelfield.analysis.summary import Reduced
from levelfield.compare import sides
from levelfield.compare.phrases import clean
from levelfield.errors import LevelfieldError
from levelfield.record import files, page

MOST_NODES = 20_000
MOST_RUNS = 500
"""Of one node."""
LONGEST_NAME = 64
"""Characters of a node's name that are shown."""
_MOST_ENTRIES = 10 * MOST_NODES


class Place(msgspec.Struct, frozen=True):
    node: str
    """Name of the node: that of its folder, as it is shown."""
    folder: Path

    @property
    def record(self) -> Path:
        return files.file_of(self.folder)

    @property
    def name(self) -> str:
        """Name in messages: `node-17`, or `node-17/20261125-020000-standard-22a3`."""
        own = _shown(self.folder.name)
        return self.node if own == self.node else f"{self.node}/{own}"


class Found(msgspec.Struct, frozen=True):
    nodes: tuple[str, ...]
    """All nodes, those without a record among them, in the order of their folders' names."""
    places: tuple[Place, ...]
    notes: tuple[str, ...]
    """What was passed over, a sentence each."""


def find(folder: Path) -> Found:
    """Find the records of all nodes under a folder.

    Raises LevelfieldError: the folder cannot be read, holds no folder of a node, or more of them than `MOST_NODES`.
    """
    try:
        entries = _entries(folder)
    except OSError as error:
        raise LevelfieldError(
            f"The folder {folder} cannot be read: {error.strerror or error}.",
            fix="Name a folder that holds a folder for each node.",
        ) from error
    folders = [each for each in entries if each.is_symlink() or each.is_dir(follow_symlinks=False)]
    if not folders:
        raise LevelfieldError(
            f"The folder {folder} holds no folder of a node.",
            fix=f"Gather the runs as {folder}/NODE/RUN or {folder}/NODE.",
        )
    if len(folders) > MOST_NODES:
        raise LevelfieldError(
            f"The folder {folder} holds more than {MOST_NODES:,} folders, the most that a fleet may have.",
            fix="Gather fewer nodes at a time.",
        )
    nodes: dict[str, None] = {}
    places: list[Place] = []
    notes: list[str] = []
    for entry in folders:
        name = _shown(entry.name)
        if name in nodes:  # somebody chose it so; longer than any other name
            name = f"{name} {_digest(entry.name)}"
        nodes[name] = None
        if entry.is_symlink():
            notes.append(f"{name} is a link, and no link is followed.")
        else:
            places += _of_node(name, Path(entry.path), notes)
    return Found(tuple(nodes), tuple(places), tuple(notes))


def _of_node(node: str, folder: Path, notes: list[str]) -> Iterator[Place]:
    """Yield the places of a node's records; note what is passed over."""
    if files.has_record(folder):
        yield Place(node, folder)
        return
    try:
        entries = _entries(folder)
    except OSError as error:
        notes.append(f"{node} cannot be read: {error.strerror or error}.")
        return
    links = [each for each in entries if each.is_symlink()]
    notes += [f"{node}/{_shown(each.name)} is a link, and no link is followed." for each in links]
    runs = [Path(each.path) for each in entries if each.is_dir(follow_symlinks=False)]
    records = [run for run in runs if files.has_record(run)]
    cut_off = [run for run in runs if run not in records and os.path.lexists(run / files.JOURNAL)]
    notes += [
        f"{node}/{_shown(run.name)} was cut off before its record was written; `bench --resume` on the "
        "node finishes it."
        for run in cut_off
    ]
    if not records:
        notes.append(f"{node} has no record.")
    if len(records) > MOST_RUNS:
        notes.append(f"{node} has {len(records):,} runs: only the last {MOST_RUNS} by name are read.")
    yield from (Place(node, run) for run in records[-MOST_RUNS:])


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder and not hidden, by name; OSError: it cannot be read, or has too many entries."""
    with os.scandir(folder) as entries:
        seen = [entry for entry in itertools.islice(entries, _MOST_ENTRIES) if not entry.name.startswith(".")]
        if next(entries, None) is not None:
            raise OSError(f"it has more than {_MOST_ENTRIES:,} entries")
    return sorted(seen, key=lambda entry: os.fsencode(entry.name))


def _shown(name: str) -> str:
    """Return a name as it is shown: a long one, or one that cannot be printed, by its ends and a digest."""
    plain = clean(name, 4 * LONGEST_NAME)
    if plain == name and len(name) <= LONGEST_NAME:
        return name
    ends = plain if len(plain) < LONGEST_NAME - 8 else f"{plain[:24]}…{plain[-30:]}"
    return f"{ends} {_digest(name)[:8]}"


def _digest(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()


MOST_BYTES = 64 * 1024 * 1024
"""Largest record of a node that is read: a run of an hour has some ten megabytes."""
PROCESSES = 2
FEW = 8
"""Up to so many records are read in this process: to start others takes longer."""


class Unread(msgspec.Struct, frozen=True):
    reason: str
    """A sentence that names the record."""


def read_all(places: Sequence[Place]) -> Iterator[Reduced | Unread]:
    """Yield what became of each record, in their order. Raises LevelfieldError: the system ended a reading process."""
    if len(places) <= FEW:
        yield from map(read, places)
        return
    # Processes that are forked from one with threads may hang; what they send back is pickled by our own code.
    pool = ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        yield from pool.map(read, places, chunksize=4)
    except BrokenProcessPool as error:
        raise LevelfieldError(
            "The system ended a process that reads records.", fix="Free memory, or gather fewer nodes at a time."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Leave an interrupt from the keyboard to the process that started this one, and collect no garbage.

    A record has a million objects, none of them in a cycle: looking through them takes a tenth of the time.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def read(place: Place) -> Reduced | Unread:
    """Read one record; whatever is wrong with it is told in a sentence."""
    try:
        content = untrusted.read_plain(place.record, MOST_BYTES, follow_links=False)
        return sides.from_content(page.record_in(content, MOST_BYTES), place.name)
    except LevelfieldError as error:
        return Unread(error.message)
    except untrusted.TooLargeError:
        return Unread(f"{place.name} is longer than {MOST_BYTES:,} bytes, the most that a record in a fleet may have.")
    except OSError as error:
        return Unread(f"{place.name} cannot be read: {error.strerror or error}.")
    except Exception as error:  # noqa: BLE001  (a stranger's record may break the analysis in any way)
        return Unread(f"{place.name} cannot be analysed: {error.__class__.__name__}: {error}.")
