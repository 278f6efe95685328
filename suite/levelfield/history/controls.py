"""The controls of earlier runs: one draw proves nothing, so a report shows those that went before as well."""

from itertools import islice
from pathlib import Path

from levelfield.errors import LevelfieldError
from levelfield.history import summary
from levelfield.history.environment import machine_key
from levelfield.paths import installation_key
from levelfield.record import files
from levelfield.record.schema import ControlDraw, Fingerprint

LARGEST_RATIO = 100.0
"""Between identical programs; beyond it something is broken, and no control."""
MOST = 200
"""Draws that are kept in a record: more narrow the interval by little."""


def before(reports: Path, machine: Fingerprint) -> tuple[ControlDraw, ...]:
    """Return the controls of the unlabelled runs in a folder that were measured on this machine, newest first.

    Only runs that this installation measured itself count, by the seal of their summaries: a record that was copied
    into the folder must not influence what later runs are compared with.
    """
    key = machine_key(machine)
    try:
        folders, seal = files.runs_in(reports), installation_key()
    except LevelfieldError:
        return ()
    found = (summary.kept(folder) for folder in folders)
    known = {
        one.id: one
        for one in found
        if one is not None and one.machine == key and not one.labels and summary.is_own(one, seal)
    }
    runs = sorted(known.values(), key=lambda one: (one.started, one.id), reverse=True)
    return tuple(islice((draw for one in runs for draw in one.controls if _is_plausible(draw)), MOST))


def _is_plausible(draw: ControlDraw) -> bool:
    """Return whether identical programs can have shown such a ratio."""
    return 1 / LARGEST_RATIO < draw.ratio < LARGEST_RATIO
