"""An append-only file of events, one JSON object a line, flushed to disk after each; one process writes at a time.

An incomplete last line, left by a kill during a write, is dropped. What any other line means is for the reader to say:
one that cannot be read is `Lost`.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from levelfield.errors import LevelfieldError

E = TypeVar("E", bound=msgspec.Struct)


class Lost(msgspec.Struct, frozen=True):
    """Marks a line that cannot be read."""

    line: int


_encoder = msgspec.json.Encoder()


class AppendOnly(Generic[E]):
    """An open file of events, locked for this process; every `write` is on the disk when it returns.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    busy
        What is going on while another process has the file open, as the beginning of a sentence.
    wait
        What to do then.
    unwritable
        What to do where the file cannot be written.

    Raises
    ------
    LevelfieldError
        Another process has the file open, the folder cannot be written, or the disk is full. What was written before
        is kept.
    """

    def __init__(self, path: Path, *, busy: str, wait: str, unwritable: str) -> None:
        self.path = path
        self._busy, self._wait, self._unwritable = busy, wait, unwritable
        try:
            # Unbuffered: a buffer would be flushed again, and fail again, on closing.
            self._file = path.open("a+b", buffering=0)
            try:
                self._lock()
                self._drop_torn_tail()
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise self._cannot_write(error) from error

    def _lock(self) -> None:
        """Lock the file by flock(2)."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LevelfieldError(f"{self._busy} by {_holder(self._file.fileno())}.", fix=self._wait) from error

    def _drop_torn_tail(self) -> None:
        """Remove an incomplete last line, which a kill during a write leaves."""
        whole = size = os.fstat(self._file.fileno()).st_size
        while whole:
            begin = max(0, whole - _TAIL_BYTES)
            newline = os.pread(self._file.fileno(), whole - begin, begin).rfind(b"\n")
            if newline >= 0:
                whole = begin + newline + 1
                break
            whole = begin
        if whole != size:
            self._file.truncate(whole)

    def write(self, event: E) -> None:
        line = memoryview(_encoder.encode(event) + b"\n")
        try:
            before = os.fstat(self._file.fileno()).st_size
            try:
                while line:  # a disk that fills up takes a part of the line, and refuses the rest
                    line = line[self._file.write(line) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(before)
                raise
        except OSError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: OSError) -> LevelfieldError:
        return LevelfieldError(
            f"The journal {self.path} cannot be written: {error.strerror or error}.", fix=self._unwritable
        )

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_TAIL_BYTES = 1 << 20
"""Bytes that are read at once when the last complete line is searched from the end."""


def _holder(descriptor: int) -> str:
    """Name the process that holds a lock on an open file: /proc/locks, proc(5)."""
    inode = str(os.fstat(descriptor).st_ino)
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode and int(fields[4]) > 0:
                return f"process {fields[4]}"
    return "another process"


def read_lines(content: bytes, decoder: msgspec.json.Decoder[E]) -> list[E | Lost]:
    """Read the events of a file, with `Lost` for each line that cannot be read.

    `content`: of the file; it is not trusted.
    """
    events: list[E | Lost] = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):  # behind the last newline is nothing, or torn
        try:
            events.append(decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            events.append(Lost(number))
    return events
