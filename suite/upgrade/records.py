"""The records of an upgrade's runs: each is where it was, and unchanged since it was counted."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from suite.errors import LevelfieldError
from suite.record import files
from suite.record.schema import FieldOutput
from suite.upgrade.progress import Boot, State


def path(boot: Boot, reports: Path) -> Path:
    """Return the file of a boot's record.

    Parameters
    ----------
    boot, reports
        A boot that counts, and the folder of run folders.
    """
    return reports / boot.begun.run / files.NAME


def check(state: State, reports: Path) -> None:
    """Refuse to go on with runs that are gone or were changed.

    Parameters
    ----------
    state, reports
        The upgrade, and the folder of run folders.

    Raises
    ------
    LevelfieldError
        A record is missing, or its digest is another one.
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


def check_outputs(state: State, reports: Path, outputs: Sequence[FieldOutput]) -> None:
    """Refuse measurements of other tools that an earlier boot has: they would count as another replicate.

    Parameters
    ----------
    state, reports
        The upgrade, and the folder of run folders.
    outputs
        Of this boot. Those without a number, such as the results of tests, may be the same in every boot.

    Raises
    ------
    LevelfieldError
        The record of a boot holds one of them.
    """
    measured = [each for each in outputs if any(isinstance(reading.value, float) for reading in each.readings)]
    for boot in state.boots if measured else ():
        content = files.content_of(path(boot, reports))
        if tool := next((each.tool for each in measured if each.sha256.encode() in content), ""):
            raise LevelfieldError(
                f"The run {boot.begun.run} has this output of {tool} already: it says nothing of this boot.",
                fix=f"Run {tool} in this boot and name its new output, or leave --field-output out.",
            )


def digest(file: Path) -> str:
    """Return the SHA-256 of a record's file."""
    return hashlib.sha256(files.content_of(file)).hexdigest()
