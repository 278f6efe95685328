"""The rules of the rigor trial, read from files that never change, so that a record can name what it is judged by."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError

FOLDER = Path(__file__).parent / "rules"


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a pair has been measured enough."""

    confidence: float
    half_width: float
    """Log scale."""
    boundaries: int
    fewest_launches: int
    budget_s: float


class VerdictLooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a verdict ends the measurement of a pair."""

    first_look: int
    """Launches after which it may."""
    look_cost: float
    """The look after n launches has 1 / (look_cost n) of the level."""


class Judge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a pair."""

    margin: float
    bench_confidence: float
    ab_false_discovery_rate: float


class Launches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of launches where precision does not end the run."""

    bench: tuple[int, ...]


class Rules(msgspec.Struct, frozen=True):
    """One file."""

    number: int
    effects: tuple[float, ...]
    stop: Stop
    judge: Judge
    launches: Launches
    count: dict[str, float]
    """Limits by which the product counted windows when the file was written; it may count by others today."""
    disturbed: dict[str, float]
    """The same of the rule by which it called a round disturbed while it was measured."""
    verdict: VerdictLooks | None = None
    """None: precision ended `ab`, as in the first rules."""


@cache
def _all() -> dict[str, Rules]:
    """Return every file's rules by its SHA-256, oldest first."""
    read = [path.read_bytes() for path in FOLDER.glob("rigor-*.toml")]
    found = {hashlib.sha256(each).hexdigest(): msgspec.convert(tomllib.loads(each.decode()), Rules) for each in read}
    return dict(sorted(found.items(), key=lambda item: item[1].number))


def newest() -> tuple[str, Rules]:
    """Return the SHA-256 of the newest rules, and these."""
    return list(_all().items())[-1]


def of(sha256: str) -> Rules:
    """Return the rules of a record."""
    known = _all()
    if not sha256:
        return next(iter(known.values()))
    if sha256 not in known:
        raise LevelfieldError(
            f"The rules {sha256[:12]} that the record was begun under are not in {FOLDER.name}/.",
            fix="Analyse it with the version of Levelfield that took it, or a later one.",
        )
    return known[sha256]
