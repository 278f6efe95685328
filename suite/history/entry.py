"""The end of a run: its summary is written beside the record and entered in the store, whatever else happens."""

from contextlib import closing
from pathlib import Path

from suite.analysis.types import Analysis
from suite.errors import LevelfieldError
from suite.history import summary
from suite.paths import installation_key
from suite.record import files
from suite.record.schema import Run


def enter(folder: Path, run: Run, result: Analysis) -> str:
    """Write the summary of a run that has just ended, and enter it in the store beside its folder.

    Parameters
    ----------
    folder
        The run's folder, which holds its record.
    run, result
        The record, and the analysis of it.

    Returns
    -------
    str
        Empty; or one sentence on why the run is not in the history. Nothing is raised: the record and the report are
        written already.
    """
    try:
        sha256, size = summary.digest(folder / files.NAME)
        made = summary.summarise(run, result, record_sha256=sha256, record_bytes=size)
        made = summary.sealed(made, installation_key())
        summary.write(made, folder)
        from suite.history import store as stores  # the summary is there even where the database library is not

        with closing(stores.Store(stores.address(None, folder.parent))) as store:
            store.enter([made])
    except LevelfieldError as error:
        return f"This run is not in the history yet: {error.message}"
    except Exception as error:  # noqa: BLE001  (hours of measuring must not end in an error of a database's driver)
        return f"This run is not in the history yet: {error.__class__.__name__}: {error}."
    return ""
