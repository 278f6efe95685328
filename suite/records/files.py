"""Reading and writing `run.json`: bounded, checked against the schema, and never half written."""

import math
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from suite.errors import LevelfieldError
from suite.records.schema import SCHEMA, Run

MAX_BYTES = 512 * 1024 * 1024
"""Largest record that is read. A full run on a fast machine holds some tens of megabytes."""
NAME = "run.json"
JOURNAL = "journal.jsonl"


def write(run: Run, folder: Path) -> Path:
    """Write the record into `folder`, whole or not at all; return its path."""
    target = folder / NAME
    write_atomically(target, msgspec.json.encode(run) + b"\n")
    return target


def write_atomically(target: Path, content: bytes) -> None:
    """Write beside `target`, flush to disk, then rename: a reader sees the old file or the new one.

    Raises
    ------
    LevelfieldError
        When the folder is read-only or the disk is full.
    """
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise LevelfieldError(
            f"{target} cannot be written: {error.strerror or error}.",
            fix="Free space on that disk, or choose a folder you can write with --reports.",
        ) from error


def read(path: Path) -> Run:
    """Read a record from a file, or from the `run.json` of a folder.

    Records come from strangers: the file is bounded in size, decoded against the schema, and its numbers are checked
    to be finite. Nothing in it is ever evaluated.

    Raises
    ------
    LevelfieldError
        With one sentence: missing, too large, not JSON, a newer schema, or not of the schema (which field).
    """
    file = path / NAME if path.is_dir() else path
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a device or a pipe might never end
            raise LevelfieldError(f"{file} is not a file.", fix="Name a run's folder or its run.json.")
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise LevelfieldError(
            f"{file} cannot be read: {error.strerror or error}.", fix="Name a run's folder or its run.json."
        ) from error
    if len(content) > MAX_BYTES:
        raise LevelfieldError(
            f"{file} is longer than {MAX_BYTES} bytes, the most that a record may have.",
            fix="It is not a record of Levelfield, or it was damaged.",
        )
    return decode(content, str(file))


class _Version(msgspec.Struct):
    schema: int


def decode(content: bytes, name: str) -> Run:
    """Decode a record's JSON; `name` is how an error calls it."""
    try:
        version = msgspec.json.decode(content, type=_Version).schema
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise LevelfieldError(
            f"{name} is not a record: {error}.", fix="Name a run.json that Levelfield wrote."
        ) from error
    if version > SCHEMA:
        raise LevelfieldError(
            f"{name} has schema {version}; this Levelfield reads up to {SCHEMA}.", fix="Install a newer Levelfield."
        )
    if version < 1:
        raise LevelfieldError(f"{name} has schema {version}, which never was.", fix="The file was changed or damaged.")
    try:
        run = msgspec.json.decode(content, type=Run)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise LevelfieldError(
            f"{name} does not follow the schema: {error}.", fix="The file was changed or damaged."
        ) from error
    _refuse_non_finite(msgspec.to_builtins(run), name)
    return run


def _refuse_non_finite(value: Any, name: str) -> None:  # noqa: ANN401  (it walks plain JSON)
    """JSON has no NaN or infinity, but `1e999` decodes to one."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float) and not math.isfinite(item):
            raise LevelfieldError(f"{name} holds a number that is not finite.", fix="The file was changed or damaged.")
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(entry for entry in item if isinstance(entry, float | dict | list | tuple))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a record, generated from the types."""
    return msgspec.json.schema(Run)
