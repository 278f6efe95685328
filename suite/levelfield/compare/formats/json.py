"""A comparison for programs: one JSON object, its answer on the first line."""

from collections.abc import Mapping

import msgspec

from levelfield.compare.types import Comparison
from levelfield.errors import printable_json

FORMAT = 1
"""Version of this layout: a field may be added, none changes its meaning."""
WITH_IDS = ("rows", "drifts")
"""Fields whose elements are written with their id."""


def write(comparison: Comparison) -> str:
    """Return the comparison as JSON, each of its parts on a line of its own, the answer first."""
    plain = {
        "answer": comparison.answer,
        "exit_code": comparison.exit_code,
        "format": FORMAT,
        "settings": comparison.settings,
        **{
            name: getattr(comparison, name)
            for name in comparison.__struct_fields__
            if name not in ("answer", "exit_code", "settings", *WITH_IDS)
        },
        **{
            name: [{"id": each.id, **msgspec.structs.asdict(each)} for each in getattr(comparison, name)]
            for name in WITH_IDS
        },
    }
    return document(plain)


def document(plain: Mapping[str, object]) -> str:
    """Return an object as JSON, each of its fields on a line of its own, and each value of a list too."""
    lines = (f"{msgspec.json.encode(name).decode()}: {_value(value)}" for name, value in plain.items())
    return "{" + ",\n ".join(lines) + "}\n"


def _value(value: object) -> str:
    if isinstance(value, list | tuple) and value:
        return "[\n  " + ",\n  ".join(map(_encoded, value)) + "]"
    return _encoded(value)


def _encoded(value: object) -> str:
    """Return JSON on one line, with escapes for what would speak to a terminal: it is often just printed."""
    return printable_json(msgspec.json.encode(value).decode())
