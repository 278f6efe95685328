"""The JSON Schema of what each command prints with `--json`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from levelfield.cli.answers.checked import Checked
from levelfield.cli.answers.examined import Examined
from levelfield.cli.answers.explained import Profiles
from levelfield.cli.answers.listed import Listed
from levelfield.cli.answers.locked import CheckedLocks
from levelfield.cli.answers.measured import Measured
from levelfield.cli.answers.pushed import Pushed
from levelfield.compare.formats import json
from levelfield.compare.trend import Trends
from levelfield.compare.types import Comparison

ANSWERS: Mapping[str, type[msgspec.Struct]] = MappingProxyType(
    {
        "ab": Comparison,
        "bench": Measured,
        "compare": Comparison,
        "doctor": Examined,
        "explain": Profiles,
        "history": Trends,
        "list": Listed,
        "lock": CheckedLocks,
        "push": Pushed,
        "report": Measured,
        "reproduce": Comparison,
        "verify": Checked,
    }
)
"""Command to the type of its answer."""


def of(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints with `--json`."""
    found = msgspec.json.schema(ANSWERS[command])
    return _with_derived_fields(found) if ANSWERS[command] is Comparison else found


def _with_derived_fields(found: dict[str, Any]) -> dict[str, Any]:
    """Add the fields that only the JSON of a comparison has: its format, and the ids of its parts."""
    definitions = found["$defs"]
    whole = definitions["Comparison"]
    whole["properties"]["format"] = {"const": json.FORMAT}
    whole["required"].append("format")
    for name in json.WITH_IDS:
        element = whole["properties"][name]["items"]["$ref"].rpartition("/")[2]
        definitions[element]["properties"]["id"] = {"type": "string"}
    return found
