"""Named baselines: pointers to runs under the reports folder, with the digest of each, so that an edited run is found.

A baseline is one small JSON file in `baselines/` beside the runs. It names folders relative to the reports folder and
nothing outside of it: reports can be moved, and an untrusted baseline cannot name other files.
"""

import hashlib
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec

from levelfield import untrusted
from levelfield.compare import sides
from levelfield.errors import LevelfieldError, explained
from levelfield.names import FILE_NAME, check_file_name, unknown
from levelfield.record import files
from levelfield.record.measured import Sha256

FOLDER = "baselines"
MAX_BYTES = 1 << 20
MOST_RUNS = 1_000
_LONGEST_PATH = 1024


class Pointer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of a baseline."""

    file: Annotated[str, msgspec.Meta(max_length=_LONGEST_PATH, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
    """Of its record, relative to the reports folder, with `/`."""
    sha256: Sha256


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What later runs are compared with."""

    name: str
    set_at: str
    """UTC, ISO 8601."""
    runs: Annotated[tuple[Pointer, ...], msgspec.Meta(max_length=MOST_RUNS)]


def define(name: str, records: list[Path], reports: Path) -> Baseline:
    """Make a baseline, or put another in its place.

    Raises LevelfieldError: the name cannot
    be a file's, or a record lies elsewhere, is named twice, or is none.
    """
    check_file_name("A baseline", name)
    ids, pointers = zip(*(_pointer(record, reports) for record in records), strict=True)
    sides.check_distinct(ids)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    baseline = Baseline(name=name, set_at=now, runs=pointers)
    with explained(f"{reports / FOLDER} cannot be made", "Choose another folder with --reports."):
        untrusted.make_inside(reports / FOLDER, reports)
    files.write_atomically(_file(name, reports), msgspec.json.encode(baseline) + b"\n")
    return baseline


def _pointer(record: Path, reports: Path) -> tuple[str, Pointer]:
    """Return a run's id, and where its record is."""
    content = files.content_of(record)
    run = files.decode(content, str(record))
    files.check(run, str(record))
    try:
        inside = record.resolve().relative_to(reports.resolve())
    except ValueError:
        raise LevelfieldError(
            f"{record} does not lie under {reports}, where baselines look for their runs.",
            fix="Move the run's folder there, or name its own reports folder with --reports.",
        ) from None
    return run.id, Pointer(file=inside.as_posix(), sha256=hashlib.sha256(content).hexdigest())


def all_of(reports: Path) -> tuple[Baseline, ...]:
    """Return every baseline, by name."""
    return tuple(read(name, reports) for name in _names(reports))


def _names(reports: Path) -> list[str]:
    """Return the names of what `define` may have made; another file of the folder is none of ours."""
    found = files.entries(reports / FOLDER)
    return [path.stem for path in found if path.suffix == ".json" and FILE_NAME.fullmatch(path.stem)]


def read(name: str, reports: Path) -> Baseline:
    """Return a baseline by name. Raises LevelfieldError: there is none of that name, or its file is damaged."""
    known = _names(reports)
    if name not in known:
        raise unknown("baseline", name, known)
    file = _file(name, reports)
    with explained(
        f"{file} is not a baseline",
        "Set it again with `baseline set`.",
        OSError,
        msgspec.MsgspecError,
        RecursionError,
        ValueError,
    ):
        baseline = msgspec.json.decode(untrusted.read_plain(file, MAX_BYTES, inside=reports), type=Baseline)
    if len({each.sha256 for each in baseline.runs}) < len(baseline.runs):
        raise LevelfieldError(f"The baseline {name} names a run twice.", fix=sides.ONCE)
    if baseline.name != name:
        raise LevelfieldError(f"{file} holds a baseline of another name.", fix="Set it again with `baseline set`.")
    if not baseline.runs:
        raise LevelfieldError(f"The baseline {name} names no run.", fix="Set it again with `baseline set`.")
    return baseline


def records(baseline: Baseline, reports: Path) -> list[Path]:
    """Return the records of a baseline, each of them unchanged since it was set.

    Raises LevelfieldError: a record is missing or was changed, or its path lies outside of the reports
    folder.
    """
    found = places(baseline, reports)
    for file, pointer in zip(found, baseline.runs, strict=True):
        if hashlib.sha256(files.content_of(file)).hexdigest() != pointer.sha256:
            raise LevelfieldError(
                f"{file} was changed since it became part of the baseline {baseline.name}.",
                fix="Bring the record back, or set the baseline again if the change is meant.",
            )
    return found


def places(baseline: Baseline, reports: Path) -> list[Path]:
    """Return where the records of a baseline should be; none of them is opened.

    Raises LevelfieldError: a path lies outside of the reports folder.
    """
    found = []
    for pointer in baseline.runs:
        inside = PurePosixPath(pointer.file)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts:
            raise LevelfieldError(
                f"The baseline {baseline.name} names a file outside of {reports}.",
                fix="Set it again with `baseline set`.",
            )
        found.append(reports / inside)
    return found


def _file(name: str, reports: Path) -> Path:
    return reports / FOLDER / f"{name}.json"
