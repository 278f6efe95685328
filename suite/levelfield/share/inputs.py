"""Read what is to be verified: a page alone, a run's folder, or a record. No link is followed."""

import re
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.safety import untrusted
from levelfield.share import signing, statement

PAGE = "report.html"
MAX_PAGE_BYTES = 96 * 1024 * 1024
"""Longest page that is read; those of standard runs stay below 2 MB."""
MAX_SBOM_BYTES = 32 * 1024 * 1024
SBOM_NAME = re.compile(r"sbom/[A-Za-z0-9_@+][A-Za-z0-9@._+-]{0,200}\.cdx\.json")
"""What a statement may call a bill of materials: a file of that folder, and nothing else."""
_FIX = "Name a report's HTML file, a run's folder or its run.json."


class VerificationInput(msgspec.Struct, frozen=True):
    """The files to verify."""

    name: str
    page: str | None = None
    record: bytes | None = None
    statement: bytes | None = None
    signature: bytes | None = None
    folder: Path | None = None
    """Where bills of materials may lie; None: the page came alone."""


def open_input(path: Path) -> VerificationInput:
    """Read what was given.

    Raises LevelfieldError: nothing of the kind is there, or it is too long.
    """
    if path.is_dir():
        page = content_of(path / PAGE, MAX_PAGE_BYTES)
        record = content_of(path / files.NAME, files.MAX_BYTES)
        if page is None and record is None:
            raise LevelfieldError(f"{path} holds neither a {PAGE} nor a {files.NAME}.", fix=_FIX)
        return _with_siblings(path, path, page=page, record=record)
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
        raise LevelfieldError(f"{path} cannot be read: {said}.", fix=_FIX) from error
    content = content_of(real, files.MAX_BYTES)
    start = (content or b"")[:200].lstrip().lower()
    if content is not None and start.startswith((b"<!doctype html", b"<html")):
        if len(content) > MAX_PAGE_BYTES:
            raise _too_long(path, MAX_PAGE_BYTES)
        return VerificationInput(name=str(path), page=_text(content, path))
    if content is not None and start.startswith(b"{"):
        return _with_siblings(path, real.parent, page=None, record=content)
    raise LevelfieldError(f"{path} is neither a report's page nor a record.", fix=_FIX)


def _with_siblings(path: Path, folder: Path, *, page: bytes | None, record: bytes | None) -> VerificationInput:
    return VerificationInput(
        name=str(path),
        page=_text(page, folder / PAGE) if page is not None else None,
        record=record,
        statement=content_of(folder / statement.NAME, statement.MAX_BYTES),
        signature=content_of(folder / statement.SIGNATURE, signing.MAX_BYTES),
        folder=folder,
    )


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise LevelfieldError(
            f"{path} is not text of the kind that pages are.", fix=files.DAMAGED, exit_code=1
        ) from error


def content_of(file: Path, most_bytes: int) -> bytes | None:
    """Return the bytes of a plain file; links are not followed, and a pipe is not waited for.

    `file`: what to read; its content is not trusted. Returns none where there is no such file. Raises LevelfieldError:
    it is something else than a plain file, too long, or cannot be read.
    """
    try:
        return untrusted.read_plain(file, most_bytes, follow_links=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except untrusted.TooLargeError as error:
        raise _too_long(file, most_bytes) from error
    except OSError as error:
        raise LevelfieldError(f"{file} cannot be read: {error.strerror or error}.", fix=_FIX) from error


def _too_long(file: Path, most_bytes: int) -> LevelfieldError:
    return LevelfieldError(
        f"{file} is longer than {most_bytes} bytes, the most that such a file may have.", fix=files.DAMAGED
    )
