"""Untrusted files: opened without blocking, plain files only, bounded in size.

A folder that was copied from elsewhere may contain a named pipe, on which opening blocks, a device, which has no end,
or a link to either. Every file of a run, a baseline, a bundle or a data set is therefore opened here.

`convert` makes typed values of plain ones, from any thread. msgspec looks a type's annotations up when it first meets
the type. Two threads that do that at once for the same type crash the interpreter (seen with msgspec 0.22 while two
images were built at once), so one waits for the other.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
import threading
import tomllib
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import msgspec

NOBODY = 65534
"""User of the workers of a supervisor that is root."""
_MORE_BYTES = 1 << 16


class TooLargeError(OSError):
    """A file is longer than such a file may be."""


def open_plain(path: Path, *, follow_links: bool = True, inside: Path | None = None) -> BufferedReader:
    """Open a plain file for reading.

    Raises OSError: the file is not there, may not be read, lies elsewhere, or is a pipe, a device, a socket or a
    folder. `strerror` says which.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "no file has a NUL in its name", str(path))
    # O_PATH opens nothing yet: neither does a pipe wait for its writer, nor does a device notice (open(2)).
    place = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW))
    try:
        mode = os.fstat(place).st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, "it is a link", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        # The kernel's own name of what was found: no link can be changed between this check and the opening.
        if inside is not None and not belongs_to(Path(f"/proc/self/fd/{place}").readlink(), inside):
            raise OSError(errno.EXDEV, "it is a link to a file outside of its folder", str(path))
        try:
            return os.fdopen(os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_CLOEXEC), "rb")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(place)


_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})


def may_be_there(path: Path) -> bool:
    """Return whether something has this name, or may have it: this user may not look, or the disk fails."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno not in _ABSENT
    except ValueError:  # no name has a null byte
        return False
    return True


def belongs_to(real: Path, folder: Path) -> bool:
    """Whether a path without links is in a folder, or among the blobs of the model in the hub's cache that it shows.

    The cache of Hugging Face's hub consists of links: `MODEL/snapshots/REVISION/NAME` leads to `MODEL/blobs/SHA256`.
    """
    root = folder.resolve()
    cached = next((each.parent.parent for each in (root, *root.parents) if each.parent.name == "snapshots"), None)
    return real.is_relative_to(root) or (cached is not None and real.parent == cached / "blobs")


def make_inside(folder: Path, root: Path) -> None:
    """Make a folder below another one, with those between them.

    Raises OSError: a link leads elsewhere, where nothing may be written, or it cannot be made.
    """
    if not folder.resolve().is_relative_to(root.resolve()):
        raise OSError(errno.EXDEV, f"a link leads out of {root}", str(folder))
    folder.mkdir(parents=True, exist_ok=True)


def write_inside(root: Path, name: str, content: bytes) -> None:
    """Write a file that everybody may read, whole or not at all, in a folder below another one, and make that folder.

    The owner of `root` may put a link anywhere at any time: none is followed below it. `name`: with `/`. Raises
    OSError: a link is in the way, or it cannot be written.
    """
    *parents, last = PurePosixPath(name).parts
    with _folder_inside(root, parents, make=True) as folder:
        temporary = f".{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(descriptor, 0o644)
                os.fsync(descriptor)
            os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise


def remove_inside(root: Path, name: str) -> None:
    """Remove a file in a folder below another one, and that folder if it is empty; through links nothing is removed."""
    *parents, last = PurePosixPath(name).parts
    with contextlib.suppress(OSError):
        with _folder_inside(root, parents, make=False) as folder:
            os.unlink(last, dir_fd=folder)
        if parents:
            with _folder_inside(root, parents[:-1], make=False) as folder:
                os.rmdir(parents[-1], dir_fd=folder)


@contextlib.contextmanager
def _folder_inside(root: Path, parts: Sequence[str], *, make: bool) -> Iterator[int]:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if make:
            _readable(folder)
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
            if make:
                _readable(folder)
        yield folder
    finally:
        os.close(folder)


def _readable(folder: int) -> None:
    mode = os.fstat(folder).st_mode
    if mode & 0o555 != 0o555:
        os.fchmod(folder, mode | 0o555)


def limit_access(copy: Path) -> None:
    """Let workers and their user alone read a copy: who may read its source, its mode alone does not say."""
    copy.chmod(0o700 if copy.is_dir() else 0o600)
    if os.getuid() == 0:
        with contextlib.suppress(OSError):  # a user namespace without that user, where there are no such workers
            os.chown(copy, NOBODY, NOBODY)


def read_plain(path: Path, most_bytes: int, *, follow_links: bool = True, inside: Path | None = None) -> bytes:
    """Return the content of a plain file.

    Raises TooLargeError: the file is
    longer, or grows beyond that while it is read. Raises OSError: as `open_plain`.
    """
    with open_plain(path, follow_links=follow_links, inside=inside) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        # read(n) allocates n bytes, so the size is asked first. More is left only if the file grew meanwhile.
        content = file.read(size_bytes) if size_bytes <= most_bytes else b""
        while size_bytes <= most_bytes and (more := file.read(_MORE_BYTES)):
            content += more
            size_bytes = len(content)
    if size_bytes > most_bytes:
        raise TooLargeError(errno.EFBIG, f"it is longer than {most_bytes:,} bytes", str(path))
    return content


MOST_PARTS = 16
_LONG_NUMBER = re.compile(r"0[xob][0-9a-fA-F_]{65}")
"""Longer than Python writes in decimal, which may be asked of it."""
_STRINGS = re.compile(r"""'[^'\n]*+'?|"(?:[^"\\\n]|\\.)*+"?""")
"""One that is not closed, which is no TOML, ends with its line: looking for the end again from each quote takes the
square of time."""
_LONG_KEY = re.compile(rf"(?:\.[ \t]*[\w-]+[ \t]*){{{MOST_PARTS}}}")


def read_toml(path: Path, most_bytes: int) -> dict[str, Any]:
    """Return the table in a file of TOML.

    Raises OSError: as `read_plain`. ValueError: it is no TOML, or may take very long: for keys of many parts
    `tomllib` takes the square of time and memory. Strings of several lines are refused, so that keys can be told.
    """
    text = read_plain(path, most_bytes).decode().replace("\r\n", "\n")
    bare = _STRINGS.sub("_", text)
    if '"""' in text or "'''" in text or _LONG_KEY.search(bare) or _LONG_NUMBER.search(bare):
        raise ValueError(f"it holds a string of several lines, a key of more than {MOST_PARTS} parts or a long number")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


_T = TypeVar("_T")
_ONE_AT_A_TIME = threading.Lock()


def convert(value: object, kind: type[_T]) -> _T:
    """Return a value made of dicts, lists and plain values as the type that describes it.

    Raises msgspec.ValidationError: it is not what the type says.
    """
    with _ONE_AT_A_TIME:
        found: Any = msgspec.convert(value, kind)
    return found  # type: ignore[no-any-return]
