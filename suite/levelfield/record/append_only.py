"""An append-only file of events, one JSON object a line, flushed to disk after each; one process writes at a time.

An incomplete last line, left by a kill during a write, is dropped. What any other line means is for the reader to say:
one that cannot be read is `Lost`. What runs over several invocations (upgrades, fleets) has a named folder with one.
"""

import contextlib
import fcntl
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Self, TypeVar

import msgspec

from levelfield import untrusted
from levelfield.errors import LevelfieldError
from levelfield.names import FILE_NAME, check_file_name, unknown
from levelfield.paths import installation_key
from levelfield.record.files import JOURNAL, entries

E = TypeVar("E", bound=msgspec.Struct)


class Lost(msgspec.Struct, frozen=True):
    """Marks a line that cannot be read."""

    line: int


_encoder = msgspec.json.Encoder()


class AppendOnly(Generic[E]):
    """An open file of events, locked for this process; every `write` is on the disk when it returns.

    `busy`: beginning of a sentence, what is going on while another process has the file open; `wait`: what to do then;
    `unwritable`: what to do where the file cannot be written. Raises LevelfieldError: another process has the file
    open, or it cannot be written; what was written before is kept.
    """

    def __init__(self, path: Path, *, busy: str, wait: str, unwritable: str) -> None:
        self.path = path
        self._busy, self._wait, self._unwritable = busy, wait, unwritable
        try:
            # Unbuffered: a buffer would be flushed again, and fail again, on closing.
            self._file = os.fdopen(os.open(path, _FLAGS, 0o666), "a+b", buffering=0)
            try:
                self._lock()
                self._drop_torn_tail()
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise self._cannot_write(error) from error

    def _lock(self) -> None:
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

    def __exit__(self, *_: object) -> None:
        self.close()


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
"""No link is followed: what a stranger's folder leads to is not written."""
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
    """Read the events of a file, with `Lost` for each line that cannot be read."""
    events: list[E | Lost] = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):  # behind the last newline is nothing, or torn
        try:
            events.append(decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            events.append(Lost(number))
    return events


class Beginning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """First event of a named journal: it decides what runs, and where."""

    name: str
    """That of the folder."""
    seal: str = ""
    """Keyed digest of all else and of the line before, by the installation that began it."""


class _Version(msgspec.Struct, forbid_unknown_fields=False):
    format: int = 0


@dataclass(frozen=True)
class NamedJournals(Generic[E]):
    """All journals of one kind."""

    what: str
    """`upgrade`."""
    article: str
    """`an`."""
    place: str
    """Folder under the reports folder that holds one folder for each name."""
    format: int
    """Newest version of the first event's layout that can be read."""
    max_bytes: int
    """Longest journal that is read."""
    decoder: "msgspec.json.Decoder[E]"
    wait: str = "Wait until that has ended."
    """What to do while another process measures."""
    go_on: str = ""
    """How to go on with one that was begun: `add --resume {name}`."""

    def folder(self, name: str, reports: Path) -> Path:
        """Return the folder of a name.

        Raises LevelfieldError: the name cannot be a folder's.
        """
        check_file_name(f"{self.article.capitalize()} {self.what}", name)
        return reports / self.place / name

    def names(self, reports: Path) -> list[str]:
        """Return all names under a reports folder. Raises LevelfieldError: it cannot be read."""
        found = (each for each in entries(reports / self.place) if untrusted.may_be_there(each / JOURNAL))
        return [each.name for each in found if FILE_NAME.fullmatch(each.name)]

    def make_folder(self, name: str, reports: Path) -> Path:
        """Make the folder of a name where there is none, and return it.

        Raises LevelfieldError: the name cannot be a folder's, or the folder cannot be made.
        """
        target = self.folder(name, reports)
        try:
            untrusted.make_inside(target, reports)
        except OSError as error:
            raise LevelfieldError(
                f"{target} cannot be made: {error.strerror or error}.", fix="Choose another folder with --reports."
            ) from error
        return target

    def open(self, name: str, reports: Path) -> AppendOnly[E]:
        """Open the journal of a name for writing; its folder is made where there is none.

        Raises LevelfieldError: as `make_folder`, and as `AppendOnly`.
        """
        return AppendOnly(
            self.make_folder(name, reports) / JOURNAL,
            busy=f"The {self.what} {name} is being measured",
            wait=self.wait,
            unwritable=f"Free space on that disk, or let this user write there; then {self.go_on.format(name=name)}.",
        )

    def create(self, name: str, reports: Path, first: E) -> None:
        """Write the first line of a journal, sealed.

        Raises LevelfieldError: there is one of that name, or as `open`.
        """
        with self.open(name, reports) as journal:
            if journal.path.stat().st_size:
                raise LevelfieldError(
                    f"There is {self.article} {self.what} called {name} already.",
                    fix=f"Give another name, or go on with that one: {self.go_on.format(name=name)}.",
                )
            first = self.decoder.decode(_encoder.encode(first))  # as it is read: 5 becomes 5.0
            journal.write(msgspec.structs.replace(first, seal=self._seal(first)))

    def add(self, journal: AppendOnly[E], event: E) -> None:
        """Write a later line, sealed together with all before it."""
        *_, last = read_lines(journal.path.read_bytes(), self.decoder)
        journal.write(msgspec.structs.replace(event, seal=self._seal(event, getattr(last, "seal", ""))))

    def _seal(self, event: msgspec.Struct, before: str = "") -> str:
        key = hmac.digest(installation_key(), f"begun {self.what}".encode(), "sha256")
        content = _encoder.encode(msgspec.structs.replace(event, seal=""))
        return hmac.digest(key, before.encode(errors="replace") + content, "sha256").hex()

    def check_own(self, first: Beginning, *later: E | Lost) -> None:
        """Refuse (LevelfieldError) to go on with what another installation began, or what was changed since."""
        before = ""
        for event in (first, *later):
            seal = str(getattr(event, "seal", ""))
            if not hmac.compare_digest(seal.encode(errors="replace"), self._seal(event, before).encode()):
                raise LevelfieldError(
                    f"The {self.what} {first.name} was not begun here, or was changed since.",
                    fix=f"Begin another {self.what}; or set LEVELFIELD_CACHE to the cache with which it was begun, "
                    "whose installation.key sealed it.",
                )
            before = seal

    def read(self, name: str, reports: Path) -> list[E | Lost]:
        """Read the events of a name; the content is not trusted.

        Raises LevelfieldError: there is none of that name, or its journal cannot be read, is too long, of a newer
        version or of another name.
        """
        path = self.folder(name, reports) / JOURNAL
        if not untrusted.may_be_there(path):
            known = self.names(reports)
            raise unknown(self.what if known else f"{self.what} in {reports}", name, known)
        try:
            content = untrusted.read_plain(path, self.max_bytes)
        except OSError as error:
            raise LevelfieldError(
                f"{path} cannot be read: {error.strerror or error}.",
                fix=f"Let this user read it, or name another {self.what}.",
            ) from error
        self._check_format(content)
        events = read_lines(content, self.decoder)
        if events and isinstance(first := events[0], Beginning) and first.name != name:
            raise LevelfieldError(
                f"The journal {path} is of {self.article} {self.what} of another name.",
                fix="Give its folder the name with which it was begun.",
            )
        return events

    def _check_format(self, content: bytes) -> None:
        try:
            found = msgspec.json.decode(content.split(b"\n", 1)[0], type=_Version).format
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return  # whoever reads the events says that the line is damaged
        if found > self.format:
            raise LevelfieldError(
                f"The {self.what} was begun with a newer Levelfield: its journal has format {found}, and this one "
                f"reads {self.format}.",
                fix="Use the newer Levelfield.",
            )
