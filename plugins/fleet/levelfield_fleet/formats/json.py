"""The verdict on a fleet for programs: one JSON object, its answer on the first line."""

from levelfield.compare.formats.json import document
from levelfield_fleet.types import Fleet

FORMAT = 1
"""Version of this layout: a field may be added, none changes its meaning."""


def write(fleet: Fleet) -> str:
    """Return the verdict as JSON, each of its parts on a line of its own, the answer first."""
    first = {"answer": fleet.answer, "exit_code": fleet.exit_code, "format": FORMAT}
    return document(first | {name: getattr(fleet, name) for name in fleet.__struct_fields__ if name not in first})
