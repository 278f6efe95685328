"""The controls of earlier runs: one draw proves nothing, so a report shows those that went before as well."""

from itertools import islice
from pathlib import Path

from suite.errors import LevelfieldError
from suite.history import summary
from suite.history.environment import machine_key
from suite.history.folders import runs_in
from suite.records.schema import ControlDraw, Fingerprint

MOST = 200
"""Draws that are kept in a record: more narrow the interval by little."""


def before(reports: Path, machine: Fingerprint) -> tuple[ControlDraw, ...]:
    """Return the controls of the unlabelled runs in a folder that were measured on this machine, newest first.

    Only summaries that fit their records are read; a folder that cannot be read has none.
    """
    key = machine_key(machine)
    try:
        folders = runs_in(reports)
    except LevelfieldError:
        return ()
    found = (summary.kept(folder, verify=False) for folder in folders)
    known = {one.id: one for one in found if one is not None and one.machine == key and not one.labels}
    runs = sorted(known.values(), key=lambda one: (one.started, one.id), reverse=True)
    return tuple(islice((draw for one in runs for draw in one.controls), MOST))
