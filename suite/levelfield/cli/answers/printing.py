"""The option `--json`, and how an answer is printed: JSON alone on stdout, all other words on stderr."""

import click
import msgspec

from levelfield.compare.formats import json
from levelfield.safety import terminals

COMMANDS = (
    *("ab", "bench", "compare", "doctor", "explain", "history", "list", "lock", "push", "report", "reproduce"),
    "verify",
)
"""Commands with `--json`; `cli.answers.schemas` has their types, which take long to import."""
JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON to stdout, and all else to stderr (schema: `levelfield schema COMMAND`).",
)


def print_json(answer: msgspec.Struct) -> None:
    """Print an answer as one JSON object."""
    terminals.write(json.document(msgspec.to_builtins(answer)))
