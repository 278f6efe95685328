"""Records of trials: the facts that they have in common, and how they are written and read."""

import os
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from suite.errors import LevelfieldError
from suite.machine.fingerprint import fingerprint
from suite.record.files import write_atomically
from suite.record.schema import Artifact, Fingerprint, Image
from suite.run.calibration import same_machine
from suite.schedule.outcomes import utc_now
from suite.schedule.resources import RunResources
from suite.version import __version__

FOLDER = Path("reports/trials")
MAX_BYTES = 1 << 28
"""Largest file that is read."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial measured and found."""

    TRIAL: ClassVar[str]
    """Name of the trial, in messages and in the name of the file."""
    SCHEMA: ClassVar[int] = 1
    """Version of the type."""

    schema: int


class MachineRecord(Record, frozen=True, kw_only=True):
    """The record of a trial that measures one machine."""

    started: str
    tool_version: str
    machine: Fingerprint


class Extensible(MachineRecord, frozen=True, kw_only=True):
    """The record of a trial that later calls of its command may add to (`--add`)."""

    updated: str
    settings: dict[str, str]
    """What everything in the record shares."""


class Measurement(MachineRecord, frozen=True, kw_only=True):
    """The record of a trial that launches workers and needs a quiet machine."""

    finished: str
    seed: int
    images: tuple[Image, ...]
    artifacts: tuple[Artifact, ...]
    load_before: tuple[float, float, float]
    """Load averages of the machine, before and after."""
    load_after: tuple[float, float, float]

    def updated(self, **changes: Any) -> Self:  # noqa: ANN401  (fields of any type)
        """Return the record with these changes, finished now."""
        return msgspec.structs.replace(self, finished=utc_now(), load_after=os.getloadavg(), **changes)


def site_facts(resources: RunResources) -> dict[str, Any]:
    """Return the fields of a record that follow from what was prepared."""
    return {
        "tool_version": __version__,
        "machine": fingerprint(resources.cpus),
        "images": tuple(resources.images.values()),
        "artifacts": tuple(file.artifact for file in resources.files.values()),
    }


_M = TypeVar("_M", bound=Measurement)


def begin(kind: type[_M], resources: RunResources, **fields: Any) -> _M:  # noqa: ANN401  (fields of any type)
    """Return the record of a measurement that begins now."""
    now, load = utc_now(), os.getloadavg()
    common: dict[str, Any] = {
        "schema": kind.SCHEMA,
        "started": now,
        "finished": now,
        "load_before": load,
        "load_after": load,
    }
    return kind(**common, **site_facts(resources), **fields)


_R = TypeVar("_R", bound=Record)
_E = TypeVar("_E", bound=Extensible)


def settings_of(request: msgspec.Struct, *left_out: str) -> dict[str, str]:
    """Return a request as a record holds it."""
    return {name: str(value) for name, value in msgspec.to_builtins(request).items() if name not in left_out}


def existing(path: Path, kind: type[_E], settings: dict[str, str], *, add: bool) -> _E | None:
    """Read the record that is added to."""
    if not path.exists():
        return None
    if not add:
        raise LevelfieldError(f"{path} exists already.", fix="Add to it (--add), or name another file with --out.")
    record = read(path, kind)
    if record.settings != settings:
        raise LevelfieldError(f"{path} was made with other settings.", fix="Give the same options, or another --out.")
    if not same_machine(record.machine, fingerprint(tuple(sorted(os.sched_getaffinity(0))))):
        raise LevelfieldError(f"{path} was made on another machine.", fix="Name another file with --out.")
    return record


def read(path: Path, kind: type[_R]) -> _R:
    """Read a trial's record."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise LevelfieldError(f"{path} is larger than any record of this trial.")
        record = msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise LevelfieldError(f"{path} cannot be read: {error.strerror or error}.") from error
    except msgspec.MsgspecError as error:
        raise LevelfieldError(f"{path} is not a record of the {kind.TRIAL} trial: {error}.") from error
    if record.schema != kind.SCHEMA:
        raise LevelfieldError(
            f"{path} has schema {record.schema}, this Levelfield reads {kind.SCHEMA}.",
            fix="Use the Levelfield that wrote it.",
        )
    return record


def write(record: Record, path: Path, markdown: str = "", *, indent: int = 1) -> None:
    """Write a record and its tables, each file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(record), indent=indent) + b"\n")
    if markdown:
        write_atomically(path.with_suffix(".md"), markdown.encode())
