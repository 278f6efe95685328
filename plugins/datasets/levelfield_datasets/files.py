"""The files of a data set, read within bounds: they may come from anywhere, and so may their names."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from levelfield import untrusted
from levelfield.errors import printable

MAX_BYTES = 256 << 20
"""Of one text file: SQuAD's is 5 MB, QQP's and MNLI's some 10 MB."""
MAX_NAME = 100
"""Characters of a name that are shown."""


class UnusableError(Exception):
    """A data set cannot be read; the one argument is a sentence that says why."""


def shown(name: str) -> str:
    """Return a name as it can be shown: on one line, in UTF-8, of a bounded length, and never a control character."""
    text = printable(os.fsencode(name).decode("utf-8", "replace")).replace("\n", "\ufffd").replace("\t", "\ufffd")
    return f"“{text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + '…'}”"


def read(path: Path, what: str, most_bytes: int = MAX_BYTES, *, inside: Path | None = None) -> bytes:
    """Return a file's content.

    Raises UnusableError: it is not there, is too long, or is outside of the folder `inside`.
    """
    try:
        return untrusted.read_plain(path, most_bytes, inside=inside)
    except untrusted.TooLargeError:
        raise UnusableError(f"{shown(path.name)} is larger than {most_bytes >> 20} MiB, and no {what} is.") from None
    except OSError as error:
        raise UnusableError(f"{shown(path.name)}, the {what}, cannot be read: {error.strerror or error}.") from None


def read_text(path: Path, what: str, most_bytes: int = MAX_BYTES, *, inside: Path | None = None) -> str:
    """Return a text file's content; raises as `read` does, and where it is not UTF-8."""
    try:
        return read(path, what, most_bytes, inside=inside).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableError(f"{shown(path.name)} is no text in UTF-8: byte {error.start} is none of it.") from None


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


def digest(sums: dict[str, str]) -> str:
    """Return one SHA-256 for all files, given that of each relative name: that of what `sha256sum` prints for them."""
    lines = (f"{sums[name]}  ".encode() + os.fsencode(name) + b"\n" for name in in_order(sums))
    return hashlib.sha256(b"".join(lines)).hexdigest()
