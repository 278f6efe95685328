"""Folders that have a name and a journal of events each, under the reports folder: upgrades and fleets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.names import FILE_NAME, check_file_name, unknown
from levelfield.record.append_only import Lost, read_lines
from levelfield.record.files import JOURNAL
from levelfield.safety import untrusted

E = TypeVar("E", bound=msgspec.Struct)


class _Version(msgspec.Struct):
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

    def folder(self, name: str, reports: Path) -> Path:
        """Return the folder of a name.

        Raises LevelfieldError: the name cannot be a folder's.
        """
        check_file_name(f"{self.article.capitalize()} {self.what}", name)
        return reports / self.place / name

    def names(self, reports: Path) -> list[str]:
        """Return all names under a reports folder."""
        found = (path.parent.name for path in (reports / self.place).glob(f"*/{JOURNAL}"))
        return sorted(name for name in found if FILE_NAME.fullmatch(name))

    def make_folder(self, name: str, reports: Path) -> Path:
        """Make the folder of a name where there is none, and return it.

        Raises LevelfieldError: the name cannot be a folder's, or the folder cannot be made.
        """
        target = self.folder(name, reports)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LevelfieldError(
                f"{target} cannot be made: {error.strerror or error}.", fix="Choose another folder with --reports."
            ) from error
        return target

    def read(self, name: str, reports: Path) -> list[E | Lost]:
        """Read the events of a name; the content is not trusted.

        Raises LevelfieldError: there is none of that name, or its journal cannot be read, is too long, or is of a newer
        version.
        """
        path = self.folder(name, reports) / JOURNAL
        if not path.is_file():
            raise unknown(self.what, name, self.names(reports))
        try:
            content = untrusted.read_plain(path, self.max_bytes)
        except OSError as error:
            raise LevelfieldError(
                f"{path} cannot be read: {error.strerror or error}.",
                fix=f"Let this user read it, or name another {self.what}.",
            ) from error
        self._check_format(content)
        return read_lines(content, self.decoder)

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
