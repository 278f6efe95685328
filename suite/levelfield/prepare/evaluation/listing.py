"""The files of a data set: their names, as they are read and as they are shown."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from levelfield.errors import printable
from levelfield.safety import untrusted

MAX_NAME = 100
"""Characters of a name that are shown."""


class UnusableError(Exception):
    """A data set cannot be read; the one argument is a sentence that says why."""


def shown(name: str) -> str:
    """Return a name as it can be shown: on one line, in UTF-8, of a bounded length, and never a control character."""
    text = printable(os.fsencode(name).decode("utf-8", "replace")).replace("\n", "\ufffd").replace("\t", "\ufffd")
    return f"“{text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + '…'}”"


def digest(named: Iterable[tuple[str, str]]) -> str:
    """Return one SHA-256 for all files, given each one's relative name and SHA-256.

    It is that of what `sha256sum` prints for them in the order of their names' bytes, so that anybody can make it.
    """
    found = hashlib.sha256()
    for name, sha256 in sorted(named, key=lambda each: os.fsencode(each[0])):
        found.update(f"{sha256}  ".encode() + os.fsencode(name) + b"\n")
    return found.hexdigest()


def entries(folder: Path, root: Path) -> Iterator[tuple[str, Path, int]]:
    """Go through a folder: names, paths and kinds, links followed; what begins with a dot is left out.

    Raises UnusableError: the folder cannot be read, or holds a link that leads nowhere or out of it.
    """
    try:
        names = in_order(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208  (names alone)
    except OSError as error:
        raise UnusableError(f"The folder {shown(folder.name)} cannot be read: {error.strerror}.") from None
    for name in names:
        path = folder / name
        where = shown(str(path.relative_to(root)))
        try:
            inside = untrusted.belongs_to(path.resolve(strict=True), root)
            kind = path.stat().st_mode
        except (OSError, RuntimeError):
            raise UnusableError(f"{where} cannot be read: it is a link to nothing, or not for you.") from None
        if not inside:
            raise UnusableError(f"{where} is a link that leaves the folder.")
        yield name, path, kind


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in the order of their bytes."""
    return tuple(sorted(names, key=os.fsencode))
