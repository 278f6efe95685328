"""What one run contributes to the history: a few kilobytes, computed once at its end and kept beside its record.

A record holds megabytes of samples, and analysing them takes a second; a thousand of them are not analysed to draw one
line. `summary.json` names the record it was made from by digest and size. Without it, or where it does not fit, the
record is analysed again.
"""

import hashlib
import hmac
import math
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec

from levelfield.analysis import Analysis, guarded, identical_arms
from levelfield.analysis.types import (
    AnyRow,
    ColdRow,
    ConvergenceRow,
    Estimate,
    LoadGenRow,
    MemoryRow,
    Row,
    Standing,
)
from levelfield.errors import LevelfieldError
from levelfield.history import environment
from levelfield.record import files
from levelfield.record.schema import Arm, Case, ControlDraw, Run, Settings, elsewhere
from levelfield.safety import untrusted

SCHEMA = 2
"""Version of these types, and of what is computed for them; a summary of another version is made anew."""
NAME = "summary.json"
MAX_BYTES = 8 * 1024 * 1024
CANARY = "canary"
"""Result id of the canary: how the machine itself did, whatever was measured on it."""

Metric: TypeAlias = Literal[
    "median call",
    "items per second",
    "time to accuracy",
    "time to first answer",
    "peak memory",
    "percentile of a query",
]
Unit: TypeAlias = Literal["ns", "items/s", "bytes"]

_Name = Annotated[str, msgspec.Meta(max_length=500)]
_Value = Annotated[str, msgspec.Meta(max_length=environment.LONGEST)]
_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
_Positive = Annotated[float, msgspec.Meta(gt=0, lt=1e30)]
_MOST = 20_000


class Result(msgspec.Struct, frozen=True):
    """One arm's answer to one case."""

    id: _Name
    """`onnxruntime/resnet50/latency/fp32/b1/t2/cpu`."""
    arm: _Name
    image: _Name
    """Group of the environment that says what the arm ran in."""
    metric: Metric
    unit: Unit
    standing: Standing
    """Why there is no estimate, where there is none, or why it is not to be trusted."""
    estimate: _Positive | None = None
    low: _Positive | None = None
    high: _Positive | None = None


class Summary(msgspec.Struct, frozen=True):
    """One run."""

    schema: int
    id: _Name
    started: str
    """UTC, ISO 8601, always of the same form, so that texts sort as times do."""
    record_sha256: _Digest
    record_bytes: Annotated[int, msgspec.Meta(gt=0, le=files.MAX_BYTES)]
    machine: _Name
    """Key of the hardware."""
    machine_title: _Name
    launcher: Literal["docker", "venv", "host"]
    labels: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=100)]
    results: Annotated[tuple[Result, ...], msgspec.Meta(max_length=_MOST)]
    environment: dict[_Name, dict[_Name, _Value]]
    controls: Annotated[tuple[ControlDraw, ...], msgspec.Meta(max_length=_MOST)] = ()
    """Ratios that the run measured between identical arms."""
    seal: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """HMAC-SHA256 of the rest, by the key of the installation that measured the run; empty where it was made from a
    record."""


_decoder = msgspec.json.Decoder(Summary)


def summarise(run: Run, result: Analysis, *, record_sha256: str, record_bytes: int) -> Summary:
    """Reduce a run to what the history keeps.

    Raises LevelfieldError: the run's start is not a time, or it holds names or numbers that no history can keep.
    """
    arms = {(block.case.id, arm.id): arm for block in run.blocks for arm in block.arms}
    found = {entry.id: entry for entry in _results(result, arms, run.settings)}
    draft = Summary(
        schema=SCHEMA,
        id=run.id,
        started=_utc(run.started),
        record_sha256=record_sha256,
        record_bytes=record_bytes,
        machine=environment.machine_key(run.machine),
        machine_title=environment.machine_title(run.machine),
        launcher=run.settings.launcher,
        labels=run.labels,
        results=tuple(found.values()),
        environment=environment.environment(run),
        controls=identical_arms.draws(run, result.blocks),
    )
    return _decode(msgspec.json.encode(draft), f"The summary of {run.id[:80]}")


def from_record(folder: Path) -> Summary:
    """Read a run's record, analyse it, and summarise it: about a second for a run of some megabytes.

    Raises LevelfieldError: the record cannot be read, or is not one.
    """
    record = guarded.read(folder)
    with guarded.computing(record.name):
        return summarise(record.run, record.analysis, record_sha256=record.sha256, record_bytes=record.size_bytes)


def sealed(summary: Summary, key: bytes) -> Summary:
    """Return a summary with the seal of this installation, which proves that it measured the run itself."""
    return msgspec.structs.replace(summary, seal=_seal(summary, key))


def is_own(summary: Summary, key: bytes) -> bool:
    """Return whether a summary was sealed by this installation, and is unchanged since."""
    return hmac.compare_digest(summary.seal.encode(errors="replace"), _seal(summary, key).encode())


def _seal(summary: Summary, key: bytes) -> str:
    return hmac.new(key, msgspec.json.encode(msgspec.structs.replace(summary, seal="")), "sha256").hexdigest()


def write(summary: Summary, folder: Path) -> None:
    """Write the summary beside its record.

    Raises LevelfieldError: the folder is read-only, or the disk is full.
    """
    files.write_atomically(folder / NAME, msgspec.json.encode(summary) + b"\n")


def kept(folder: Path) -> Summary | None:
    """Return the summary beside the record in a run's folder, or None where there is none that fits."""
    try:
        record = (folder / files.NAME).stat()
        if not stat.S_ISREG(record.st_mode):
            return None
        summary = _decoder.decode(untrusted.read_plain(folder / NAME, MAX_BYTES))
    except (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    if summary.schema != SCHEMA or summary.record_bytes != record.st_size or not _is_utc(summary.started):
        return None
    if digest(folder / files.NAME) != (summary.record_sha256, summary.record_bytes):
        return None
    return summary


def digest(record: Path) -> tuple[str, int]:
    """Return the SHA-256 of a file, and its size in bytes."""
    with untrusted.open_plain(record) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest(), stream.tell()


def _decode(content: bytes, name: str) -> Summary:
    try:
        return _decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LevelfieldError(
            f"{name} cannot be kept: {error}.", fix="The record was changed or damaged: it holds what no run writes."
        ) from error


def _utc(moment: str) -> str:
    try:
        read = datetime.fromisoformat(moment)
        aware = read if read.tzinfo else read.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        raise LevelfieldError(
            f"A run began at {moment[:40]!r}, which is no time.", fix="The record was changed or damaged."
        ) from error


def _is_utc(moment: str) -> bool:
    try:
        return _utc(moment) == moment
    except LevelfieldError:
        return False


def _results(result: Analysis, arms: dict[tuple[str, str], Arm], settings: Settings) -> Iterator[Result]:
    for block in result.blocks:
        for row in block.rows:
            arm = arms[block.case.id, row.arm]
            if arm.ordinal > 1 or row.standing == "absent":  # a second time the same, or no fault and no number
                continue
            metric, unit, estimate = estimate_of(row, per_item=block.case.per_item)
            image = _image_group(arm, settings.launcher)
            name = f"{row.arm}/{block.case.id}{_goal(block.case, settings)}"
            yield _result(name, arm, image, metric, unit, row.standing, estimate)
    if result.canary is not None:
        canary = Arm(backend=result.canary.arm, image="canary")
        image = _image_group(canary, settings.launcher)
        yield _result(CANARY, canary, image, "median call", "ns", "shown", Estimate(result.canary.median_ns))


def _image_group(arm: Arm, launcher: str) -> str:
    stem = f"{arm.variant}@{arm.version}" if arm.version else arm.variant
    return environment.image_group(arm.image, stem, elsewhere(arm.launcher or launcher, launcher))


def _goal(case: Case, settings: Settings) -> str:
    """Return what makes it another question: another target, or (of earlier versions) a user's own images."""
    if case.definition.driven_as == "Server" and settings.latency_target_ms is not None:
        return f"/within-{settings.latency_target_ms:g}ms"
    if not case.converges:
        return ""
    own, target = settings.own_images, settings.target
    images = f"/images-{own.sha256[:12] or 'unknown'}" if own is not None else ""
    return images + (f"/to-{target:g}" if target is not None else "")


def _result(
    name: str, arm: Arm, image: str, metric: Metric, unit: Unit, standing: Standing, estimate: Estimate | None
) -> Result:
    values = (estimate.value, estimate.low, estimate.high) if estimate is not None else (None, None, None)
    trusted = standing in ("ranked", "shown")  # numbers of a wrong answer are no numbers to follow
    value, low, high = (_sound(value) if trusted else None for value in values)
    return Result(
        id=name,
        arm=arm.id,
        image=image,
        metric=metric,
        unit=unit,
        standing=standing,
        estimate=value,
        low=low if value is not None and high is not None else None,
        high=high if value is not None and low is not None else None,
    )


def _sound(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None


def estimate_of(row: AnyRow, *, per_item: bool) -> tuple[Metric, Unit, Estimate | None]:
    """Return what a row's scenario measures, its unit, and the row's estimate of it; None where it has no number.

    `per_item`: whether the case is about items per second, not about the time of a call.
    """
    match row:
        case Row() if per_item:
            return "items per second", "items/s", row.items_per_second
        case Row():
            return "median call", "ns", row.median_ns
        case ConvergenceRow():
            return "time to accuracy", "ns", row.time_ns
        case LoadGenRow() if per_item:
            return "items per second", "items/s", row.per_second
        case LoadGenRow():
            return "percentile of a query", "ns", row.value_ns
        case ColdRow():
            return "time to first answer", "ns", row.total_ns
        case MemoryRow():
            return "peak memory", "bytes", None if row.peak_bytes is None else Estimate(row.peak_bytes)
