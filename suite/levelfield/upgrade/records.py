"""The records of an upgrade's runs: each is where it was, and unchanged since it was counted."""

import hashlib
from pathlib import Path

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.upgrade.progress import Boot, State


def path(boot: Boot, reports: Path) -> Path:
    """Return the file of a boot's record."""
    return files.file_of(reports / boot.begun.run)


def check(state: State, reports: Path) -> None:
    """Refuse to go on with runs that are gone or were changed.

    Raises LevelfieldError: a record is missing, or its digest is another one.
    """
    for boot in state.boots:
        file = path(boot, reports)
        if not file.is_file():
            raise LevelfieldError(
                f"The run {boot.begun.run}, which the upgrade {state.begun.name} counts, is not in {reports}.",
                fix="Bring its folder back from a copy; without it, begin another upgrade.",
            )
        if digest(file) != boot.done.sha256:
            raise LevelfieldError(
                f"The record {file} was changed since the upgrade {state.begun.name} counted it.",
                fix="Bring the record back from a copy; without it, begin another upgrade.",
            )


def digest(file: Path) -> str:
    """Return the SHA-256 of a record's file."""
    return hashlib.sha256(files.content_of(file)).hexdigest()
