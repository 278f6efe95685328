"""The end of a run: its summary is written beside the record, whatever else happens."""

from pathlib import Path

from levelfield.analysis import Analysis
from levelfield.errors import LevelfieldError
from levelfield.history import summary
from levelfield.paths import installation_key
from levelfield.record import files
from levelfield.record.schema import Run


def enter(folder: Path, run: Run, result: Analysis) -> str:
    """Write the summary of a run that has just ended, by which the history knows it.

    Returns empty; or one sentence on why the run is not in the history. Nothing is raised: the record and the report
    are written already.
    """
    try:
        sha256, size = summary.digest(folder / files.NAME)
        made = summary.summarise(run, result, record_sha256=sha256, record_bytes=size)
        summary.write(summary.sealed(made, installation_key()), folder)
    except LevelfieldError as error:
        return f"This run is not in the history yet: {error.message}"
    except OSError as error:
        return f"This run is not in the history yet: {error.strerror or error}."
    return ""
