"""The reference of a run's record, made from its types: what every field means, and the JSON Schema as a file."""

import ast
import inspect
import json
import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from levelfield.record import files, schema

FOLDER = "reference"


def pages() -> Iterator[tuple[str, str]]:
    """Yield each file as its path and its text."""
    yield f"{FOLDER}/run.schema.json", json.dumps(files.schema(), indent=1)
    lines = [
        "# The record of a run",
        "",
        "It is inside the page of a run; `levelfield export RUN --record FILE` writes it as JSON. `levelfield schema`",
        "prints its [JSON Schema](run.schema.json), from which programs can check it. Times are integers, in ns.",
    ]
    for struct in _structs():
        lines += ["", *_struct(struct)]
    yield f"{FOLDER}/record.md", "\n".join(lines)


def _structs() -> list[type[msgspec.Struct]]:
    """Return the record's types, the run first, each after what refers to it."""
    found: list[type[msgspec.Struct]] = []
    waiting: list[Any] = [schema.Run]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each not in found:
            found.append(each)
            waiting += typing.get_type_hints(each).values()
        elif not isinstance(each, type):
            waiting += typing.get_args(each)
    return found


def _struct(struct: type[msgspec.Struct]) -> Iterator[str]:
    yield from (f"## {struct.__name__}", "", inspect.cleandoc(struct.__doc__ or "").replace("<", "\\<"), "")
    fields = msgspec.structs.fields(struct)
    if not fields:
        return
    said = _descriptions(struct)
    yield from ("| field | type | default | |", "|---|---|---|---|")
    for field in fields:
        default = "required" if field.required else f"`{_default(field)}`"
        yield f"| `{field.encode_name}` | {_type(field.type)} | {default} | {said.get(field.name, '')} |"


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return "()" if value in ((), [], {}) else str(msgspec.to_builtins(value)).replace("|", "\\|")


def _type(annotation: Any) -> str:  # noqa: ANN401
    """Return a type as Markdown: names of the record's types lead to their sections."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        name = annotation.__name__
        return f"[{name}](#{name.lower()})" if issubclass(annotation, msgspec.Struct) else name.replace("None", "null")
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_type, arguments))
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin is tuple and arguments[-1:] == (...,):
        return f"list of {_type(arguments[0])}"
    if origin in (dict, typing.Mapping):
        return f"object of {_type(arguments[1])}"
    return f"({', '.join(map(_type, arguments))})" if origin is tuple else str(annotation).replace("|", "\\|")


def _descriptions(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return what the string below each field says."""
    (definition,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(below.value.value).split()).replace("|", "\\|").replace("<", "\\<")
    return found
