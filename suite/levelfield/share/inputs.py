"""Read what is to be verified: a page alone, a run's folder, or a record as JSON. No link is followed."""

import hashlib
import re
from pathlib import Path

import msgspec

from levelfield import untrusted
from levelfield.analysis import guarded
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record import page as pages
from levelfield.record.schema import Run
from levelfield.share import signing, statement

MAX_SBOM_BYTES = 32 * 1024 * 1024
SBOM_NAME = re.compile(r"sbom/[A-Za-z0-9_@+][A-Za-z0-9@._+-]{0,200}\.cdx\.json")
"""What a statement may call a bill of materials: a file of that folder, and nothing else."""
_FIX = "Name a report's HTML file or a run's folder."


class Given(msgspec.Struct, frozen=True):
    """What is to be verified, decoded."""

    name: str
    run: Run
    content: bytes
    """JSON of the record."""
    page: bytes | None = None
    block: str = ""
    """The record's block of the page, as it is there."""
    page_statement: tuple[str, str] = ("", "")
    """Statement and signature inside the page."""
    statement: bytes | None = None
    """The statement beside the record, or else that of the page."""
    signature: str = ""
    folder: Path | None = None
    """Where bills of materials may lie; None: the page came alone."""

    @property
    def record_sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def read(path: Path) -> Given:
    """Read and decode what was given, within bounds; of a folder with both, the record is that of `run.json`.

    Raises LevelfieldError: nothing of the kind is there, it is too long or no record; with exit code 1 where it was one
    and was damaged.
    """
    if path.is_dir():
        page, record = (content_of(path / name, pages.MAX_BYTES) for name in (pages.NAME, files.NAME))
        if page is None and record is None:
            raise LevelfieldError(f"{path} holds no {pages.NAME}.", fix=_FIX)
        return decode(str(path), page=page, record=record, folder=path)
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
        raise LevelfieldError(f"{path} cannot be read: {said}.", fix=_FIX) from error
    content = content_of(real, pages.MAX_BYTES)
    if content is not None and pages.is_page(content):
        return decode(str(path), page=content)
    if content is not None and content[:200].lstrip().startswith(b"{"):
        return decode(str(path), record=content, folder=real.parent)
    raise LevelfieldError(f"{path} is neither a report's page nor a record.", fix=_FIX)


def decode(name: str, *, page: bytes | None = None, record: bytes | None = None, folder: Path | None = None) -> Given:
    """Decode a page, a record, or both; statement and signature are those of the folder, or else of the page.

    Raises LevelfieldError: as `read` does.
    """
    block, inside = pages.split(page) if page is not None else ("", ("", ""))
    stated = content_of(folder / statement.NAME, statement.MAX_BYTES) if folder is not None else None
    signature = inside[1]
    if folder is not None and stated is not None:
        signature = (content_of(folder / statement.SIGNATURE, signing.MAX_BYTES) or b"").decode("ascii", "replace")
    content = record if record is not None else pages.unpack(block)
    return Given(
        name=name,
        run=guarded.decode(content, name),
        content=content,
        page=page,
        block=block,
        page_statement=inside,
        statement=stated if stated is not None else inside[0].encode(errors="replace") or None,
        signature=signature,
        folder=folder,
    )


def content_of(file: Path, most_bytes: int) -> bytes | None:
    """Return the bytes of a plain file, or None where there is none; links are not followed, and a pipe is no wait.

    Raises LevelfieldError: it is something else than a plain file, too long, or cannot be read.
    """
    try:
        return untrusted.read_plain(file, most_bytes, follow_links=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except untrusted.TooLargeError as error:
        raise LevelfieldError(
            f"{file} is longer than {most_bytes} bytes, the most that such a file may have.", fix=files.DAMAGED
        ) from error
    except OSError as error:
        raise LevelfieldError(f"{file} cannot be read: {error.strerror or error}.", fix=_FIX) from error
