"""Levelfield: a level playing field for deep-learning stacks."""

from typing import TYPE_CHECKING

from levelfield.version import __version__ as __version__

if TYPE_CHECKING:
    from pathlib import Path

    from levelfield.loading import Report


def load(path: "str | Path") -> "Report":
    """Read a report: a run's folder, its page, or its record as JSON.

    Parameters
    ----------
    path
        Of the report.

    Returns
    -------
    levelfield.loading.Report
        The record, its analysis, and its tables as rows or DataFrames.

    Raises
    ------
    LevelfieldError
        It cannot be read, or is no report.
    """
    from levelfield.loading import load as read  # workers import this package too, and have nothing that reads reports

    return read(path)
