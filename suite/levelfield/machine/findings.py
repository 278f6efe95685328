"""Findings of `levelfield doctor`, each with its fix."""

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

State: TypeAlias = Literal["ok", "warn", "bad"]


class Finding(msgspec.Struct, frozen=True):
    """Result of one check.

    `bad`: nothing can be run like this. `warn`: it runs, with less than there could be. `ok`: nothing to do.
    """

    topic: str
    state: State
    message: str
    fix: str = ""
    """What to do about it; empty only where nothing has to be done."""


def ok(topic: str, message: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(topic, "ok", message)


def warn(topic: str, message: str, fix: str) -> Finding:
    """Return a finding of something that limits a run but does not prevent it."""
    return Finding(topic, "warn", message, fix)


def bad(topic: str, message: str, fix: str) -> Finding:
    """Return a finding of something that prevents a run."""
    return Finding(topic, "bad", message, fix)


def check(topic: str, message: str, fix: str, *, passed: bool) -> Finding:
    """Return a finding that is `ok` or a warning."""
    return ok(topic, message) if passed else warn(topic, message, fix)


class Needs(msgspec.Struct, frozen=True):
    """What a run needs of a machine. The defaults are estimates; callers that know the locks give exact values."""

    python: str = "3.11"
    """Minor version that most locks are for."""
    wheels_missing_bytes: int | None = None
    """What has yet to be downloaded; None: not known, 0: every wheel is in the cache."""
    memory_bytes: int = 4 << 30
    """The largest worker (training a ResNet-50 or BERT) takes about 3 GB."""
    folders: dict[Path, int] = msgspec.field(default_factory=lambda: {Path(): 12 << 30})
    """Folders that get filled, and by how many bytes: the cache, the engine's, the reports."""


def gibibytes(value_bytes: float) -> str:
    return f"{value_bytes / 2**30:.1f} GiB"
