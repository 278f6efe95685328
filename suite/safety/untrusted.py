"""Untrusted files: opened without blocking, plain files only, bounded in size.

A folder that was copied from elsewhere may contain a named pipe, on which opening blocks, a device, which has no end,
or a link to either. Every file of a run, a baseline, a bundle or a data set is therefore opened here.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

_MORE_BYTES = 1 << 16


class TooLargeError(OSError):
    """A file is longer than such a file may be."""


def open_plain(path: Path, *, follow_links: bool = True) -> BufferedReader:
    """Open a plain file for reading.

    Parameters
    ----------
    path : Path
        The file.
    follow_links : bool
        Whether the last part of the path may be a symbolic link.

    Returns
    -------
    BufferedReader
        The open file; the caller closes it.

    Raises
    ------
    OSError
        The file is not there, may not be read, or is a pipe, a device, a socket or a folder. `strerror` says which.
    """
    # O_NONBLOCK: without it, to open a named pipe waits for a writer (open(2)). It changes nothing for a plain file.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP and not follow_links:
            raise OSError(errno.ELOOP, "it is a link", str(path)) from error
        if error.errno == errno.ENXIO:  # a socket
            raise OSError(errno.EINVAL, "it is not a plain file", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, most_bytes: int, *, follow_links: bool = True) -> bytes:
    """Return the content of a plain file.

    Parameters
    ----------
    path, follow_links
        As `open_plain` takes them.
    most_bytes : int
        The most bytes that such a file may have; a longer one is not read.

    Raises
    ------
    TooLargeError
        The file is longer, or grows beyond that while it is read.
    OSError
        As `open_plain`.
    """
    with open_plain(path, follow_links=follow_links) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        # read(n) allocates n bytes, so the size is asked first. More is left only if the file grew meanwhile.
        content = file.read(size_bytes) if size_bytes <= most_bytes else b""
        while size_bytes <= most_bytes and (more := file.read(_MORE_BYTES)):
            content += more
            size_bytes = len(content)
    if size_bytes > most_bytes:
        raise TooLargeError(errno.EFBIG, f"it is longer than {most_bytes:,} bytes", str(path))
    return content
