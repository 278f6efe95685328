"""Where the records of a fleet are: FOLDER/<node>/<run>, or FOLDER/<node> itself.

The folders may have been copied together from machines that are not trusted. No link is followed, and a folder with
more entries than a fleet has is not looked through.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from levelfield.compare.phrases import clean
from levelfield.errors import LevelfieldError
from levelfield.record import files

MOST_NODES = 20_000
MOST_RUNS = 500
"""Of one node."""
LONGEST_NAME = 64
"""Characters of a node's name that are shown."""
_MOST_ENTRIES = 10 * MOST_NODES


class Place(msgspec.Struct, frozen=True):
    """A folder with a record."""

    node: str
    """Name of the node: that of its folder, as it is shown."""
    folder: Path

    @property
    def record(self) -> Path:
        """The record's file."""
        return files.file_of(self.folder)

    @property
    def name(self) -> str:
        """Name in messages: `node-17`, or `node-17/20261121-163925-standard-22a3`."""
        own = clean(self.folder.name, LONGEST_NAME)
        return self.node if own == self.node else f"{self.node}/{own}"


class Found(msgspec.Struct, frozen=True):
    """The records under a folder."""

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
    notes = [f"{_shown(each)} is a link, and no link is followed." for each in entries if each.is_symlink()]
    folders = [each for each in entries if each.is_dir(follow_symlinks=False)]
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
    for entry in folders:
        name = _shown(entry)
        if name in nodes:
            notes.append(f"Two folders are shown as {name}: only the first is read.")
            continue
        nodes[name] = None
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
    notes += [f"{node}/{_shown(each)} is a link, and no link is followed." for each in links]
    runs = [Path(each.path) for each in entries if each.is_dir(follow_symlinks=False)]
    records = [run for run in runs if files.has_record(run)]
    cut_off = [run for run in runs if run not in records and os.path.lexists(run / files.JOURNAL)]
    notes += [
        f"{node}/{clean(run.name, LONGEST_NAME)} was cut off before its record was written; `bench --resume` on the "
        "node finishes it."
        for run in cut_off
    ]
    if not records:
        notes.append(f"{node} has no record.")
    if len(records) > MOST_RUNS:
        notes.append(f"{node} has {len(records):,} runs: only the last {MOST_RUNS} by name are read.")
    yield from (Place(node, run) for run in records[-MOST_RUNS:])


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder and not hidden, by name; of a folder with too many entries, the first ones read."""
    with os.scandir(folder) as entries:
        seen = [entry for entry in itertools.islice(entries, _MOST_ENTRIES) if not entry.name.startswith(".")]
    return sorted(seen, key=lambda entry: os.fsencode(entry.name))


def _shown(entry: os.DirEntry[str]) -> str:
    return clean(entry.name, LONGEST_NAME)
