"""Plain values as TOML 1.0, in which any text is only text; the standard library reads TOML and does not write it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from levelfield.errors import UNPRINTABLE

Value: TypeAlias = "str | bool | int | float | Sequence[Value] | Mapping[str, Value] | None"

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def write(values: Mapping[str, Value], heading: Sequence[str] = ()) -> str:
    """Return a table as TOML: plain values first, then tables, then lists of tables.

    `values`: names to texts, numbers, lists, tables, or lists of tables. A table in a list is written with its own
    tables on one line each. TOML has no null: a name whose value is None is left out.

    Examples
    --------
    >>> print(write({"format": 1, "case": [{"id": "a", "costs": [1.5, 2.0]}]}), end="")
    format = 1
    <BLANKLINE>
    [[case]]
    id = "a"
    costs = [1.5, 2.0]
    """
    return "\n".join((*(f"# {line}".rstrip() for line in heading), *_lines(values))) + "\n"


def _lines(values: Mapping[str, Value]) -> Iterator[str]:
    tables = {name: value for name, value in values.items() if isinstance(value, Mapping)}
    lists = {name: found for name, value in values.items() if (found := _tables_of(value))}
    yield from _pairs({name: value for name, value in values.items() if name not in tables and name not in lists})
    for name, table in tables.items():
        yield from ("", f"[{_key(name)}]", *_pairs(table))
    for name, entries in lists.items():
        for entry in entries:
            yield from ("", f"[[{_key(name)}]]", *_pairs(entry))


def _tables_of(value: Value) -> list[Mapping[str, Value]]:
    """Return the tables of a list that holds nothing else; else nothing."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    found = [each for each in value if isinstance(each, Mapping)]
    return found if len(found) == len(value) else []


def _pairs(table: Mapping[str, Value]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in table.items() if value is not None]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Value) -> str:
    match value:
        case str():
            return _text(value)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case Mapping():
            return "{" + ", ".join(_pairs(value)) + "}"
        case None:
            raise ValueError("TOML has no null: a list cannot hold None.")
        case _:
            return "[" + ", ".join(map(_value, value)) + "]"


def _text(text: str) -> str:
    escaped = json.dumps(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text), ensure_ascii=False)
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped)
