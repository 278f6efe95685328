"""The summaries of runs as files, `summary.json` beside each record, and what a folder of them says.

A summary names the record it was made from by digest and size, and is sealed by the installation that made it. One
that does not fit, or that another installation made, counts for nothing: the record is analysed again. What cannot be
read is named and left out.
"""

import contextlib
import hashlib
import hmac
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import msgspec

from levelfield import untrusted
from levelfield.analysis import Analysis, guarded
from levelfield.analysis.environment import machine_key
from levelfield.analysis.summary import SCHEMA, Summary, decoder, summarise, utc
from levelfield.errors import LevelfieldError
from levelfield.paths import installation_key
from levelfield.record import files
from levelfield.record.schema import ControlDraw, Fingerprint, Run

NAME = "summary.json"
MAX_BYTES = 8 * 1024 * 1024
Check: TypeAlias = Callable[[Run, str], None]
"""Refuses a record of this name, which contradicts itself (`compare.sides.check_agreement`)."""


def from_record(folder: Path, check: Check) -> Summary:
    """Read a run's record, analyse it, and summarise it: about a second for a run of some megabytes.

    Raises LevelfieldError: the record cannot be read, or is not one.
    """
    record = guarded.read(folder)
    with guarded.computing(record.name):
        check(record.run, record.name)
        return summarise(record.run, record.analysis, record_sha256=record.sha256, record_bytes=record.size_bytes)


def sealed(summary: Summary, key: bytes) -> Summary:
    """Return a summary with the seal of this installation, which proves that it measured the run itself."""
    return msgspec.structs.replace(summary, seal=_seal(summary, key))


def _of_records(key: bytes) -> bytes:
    """Return the key for what this installation computed from a record, which need not be its own measurement."""
    return hmac.digest(key, b"made from a record", "sha256")


def is_own(summary: Summary, key: bytes) -> bool:
    """Return whether a summary was sealed with this key, and is unchanged since."""
    return hmac.compare_digest(summary.seal.encode(errors="replace"), _seal(summary, key).encode())


def _seal(summary: Summary, key: bytes) -> str:
    return hmac.new(key, msgspec.json.encode(msgspec.structs.replace(summary, seal="")), "sha256").hexdigest()


def write(summary: Summary, folder: Path) -> None:
    """Write the summary beside its record. Raises LevelfieldError: the folder is read-only, or the disk is full."""
    files.write_atomically(folder / NAME, msgspec.json.encode(summary) + b"\n")


def kept(folder: Path) -> Summary | None:
    """Return the summary that this installation made of the record in a run's folder; None where there is none."""
    try:
        key = installation_key()
        summary = decoder.decode(untrusted.read_plain(folder / NAME, MAX_BYTES, inside=folder))
        if summary.schema != SCHEMA or not _is_utc(summary.started):
            return None
        content = files.content_of(folder)
    except (OSError, LevelfieldError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    fits = (summary.record_sha256, summary.record_bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    return summary if fits and (is_own(summary, key) or is_own(summary, _of_records(key))) else None


def _is_utc(moment: str) -> bool:
    try:
        return utc(moment) == moment
    except LevelfieldError:
        return False


Progress: TypeAlias = Callable[[str], None]


class Skipped(msgspec.Struct, frozen=True):
    """A folder whose record could not be read, and why."""

    folder: str
    reason: str


def read_all(reports: Path, progress: Progress, check: Check) -> tuple[tuple[Summary, ...], tuple[Skipped, ...]]:
    """Return the summary of every run in a folder.

    A record without a summary that fits is analysed, and its summary is written beside it.

    Raises LevelfieldError: the folder cannot be read.
    """
    skipped: list[Skipped] = []
    found = list(_summaries(files.runs_in(reports), skipped, progress, check))
    chosen: dict[str, Summary] = {}
    for folder, run in sorted(found, key=lambda each: each[0].name != each[1].id):  # a run's own folder goes first
        if chosen.setdefault(run.id, run).record_sha256 != run.record_sha256:
            skipped.append(Skipped(folder.name, f"its run id {run.id} belongs to another record"))
    return tuple(chosen.values()), tuple(skipped)


def _summaries(
    folders: list[Path], skipped: list[Skipped], progress: Progress, check: Check
) -> Iterator[tuple[Path, Summary]]:
    for number, folder in enumerate(folders, start=1):
        found = kept(folder)
        if found is not None:
            yield folder, found
            continue
        progress(f"analysing {folder.name} ({number} of {len(folders)})")
        try:
            found = from_record(folder, check)
        except LevelfieldError as error:
            skipped.append(Skipped(folder.name, error.message))
        except Exception as error:  # noqa: BLE001  (a stranger's record may break the analysis in any way)
            skipped.append(Skipped(folder.name, f"its analysis ended with {error.__class__.__name__}: {error}"))
        else:
            with contextlib.suppress(LevelfieldError, OSError):  # a read-only folder: it is analysed again next time
                write(sealed(found, _of_records(installation_key())), folder)
            yield folder, found


def enter(folder: Path, content: bytes, run: Run, result: Analysis) -> str:
    """Write the summary of a run that has just ended, by which the history knows it."""
    try:
        sha256 = hashlib.sha256(content).hexdigest()
        made = summarise(run, result, record_sha256=sha256, record_bytes=len(content))
        write(sealed(made, installation_key()), folder)
    except LevelfieldError as error:
        return f"This run is not in the history yet: {error.message}"
    except OSError as error:
        return f"This run is not in the history yet: {error.strerror or error}."
    return ""


LARGEST_RATIO = 100.0
"""Between identical programs; beyond it something is broken, and no control."""
MOST_CONTROLS = 200
"""Draws that are kept in a record: more narrow the interval by little."""


def controls_before(reports: Path, machine: Fingerprint) -> tuple[ControlDraw, ...]:
    """Return the controls of the unlabelled runs in a folder that were measured on this machine, newest first.

    Only runs that this installation measured itself count, by the seal of their summaries: a record that was copied
    into the folder must not influence what later runs are compared with.
    """
    key = machine_key(machine)
    try:
        folders, seal = files.runs_in(reports), installation_key()
    except LevelfieldError:
        return ()
    found = (kept(folder) for folder in folders)
    known = {
        one.id: one for one in found if one is not None and one.machine == key and not one.labels and is_own(one, seal)
    }
    runs = sorted(known.values(), key=lambda one: (one.started, one.id), reverse=True)
    draws = (draw for one in runs for draw in one.controls if 1 / LARGEST_RATIO < draw.ratio < LARGEST_RATIO)
    return tuple(islice(draws, MOST_CONTROLS))
