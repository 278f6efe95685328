"""The end of a run: its summary is written beside the record, whatever else happens."""

import hashlib
from pathlib import Path

from levelfield.analysis.types import Analysis
from levelfield.errors import LevelfieldError
from levelfield.history import summary
from levelfield.paths import installation_key
from levelfield.record.schema import Run


def enter(folder: Path, content: bytes, run: Run, result: Analysis) -> str:
    """Write the summary of a run that has just ended, by which the history knows it.

    `content`: the record's JSON. Returns empty; or one sentence on why the run is not in the history. Nothing is
    raised: the page is written already.
    """
    try:
        sha256 = hashlib.sha256(content).hexdigest()
        made = summary.summarise(run, result, record_sha256=sha256, record_bytes=len(content))
        summary.write(summary.sealed(made, installation_key()), folder)
    except LevelfieldError as error:
        return f"This run is not in the history yet: {error.message}"
    except OSError as error:
        return f"This run is not in the history yet: {error.strerror or error}."
    return ""
