"""The rules of the rigor trial, read from files that never change, so that a record can name what it is judged by."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.machine import disturbance
from suite.statistics import student, warming

FOLDER = Path(__file__).parent / "rules"


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a pair has been measured enough."""

    confidence: float
    half_width: float
    """Log scale."""
    boundaries: int
    fewest_launches: int
    budget_s: float


class Judge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a pair."""

    margin: float
    bench_confidence: float
    ab_false_discovery_rate: float


class Launches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of launches where precision does not end the run."""

    bench: tuple[int, ...]


class Count(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Constants of the rule which windows count."""

    calm_generations: int
    warm_up_level: float
    warm_up_own_share: float
    warm_up_launches: int
    warm_up_tolerance: float


class Disturbed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Constants of the rule by which a round is called disturbed."""

    steal_share: float
    others_share: float
    idle_workers_share: float
    pressure_share: float
    outside_share: float
    floor_ticks: int
    settling_ns: int
    """CPU time of idle workers that a turn may hold: they spun while it began. 0: it began when they stood still."""


class Drift(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the drift between two frameworks is looked at."""

    lags: int
    confidence: float
    groups: tuple[int, ...]


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    number: int
    effects: tuple[float, ...]
    stop: Stop
    judge: Judge
    launches: Launches
    count: Count
    disturbed: Disturbed
    drift: Drift


def built_in() -> tuple[Count, Disturbed]:
    """Return the constants that are fixed in the product's code, as a file would name them.

    Its turns begin when all workers stand still; how those of a stream began is for the stream's own rules to say.
    """
    return (
        Count(
            calm_generations=student.MIN_LAUNCHES,
            warm_up_level=warming.ALPHA,
            warm_up_own_share=warming.OWN_SHARE,
            warm_up_launches=warming.MIN_LAUNCHES,
            warm_up_tolerance=warming.TOLERANCE,
        ),
        Disturbed(
            steal_share=disturbance.STEAL_SHARE,
            others_share=disturbance.OTHERS_SHARE,
            idle_workers_share=disturbance.IDLE_WORKERS_SHARE,
            pressure_share=disturbance.PRESSURE_SHARE,
            outside_share=disturbance.OUTSIDE_SHARE,
            floor_ticks=disturbance.FLOOR_TICKS,
            settling_ns=0,
        ),
    )


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
    """Return the rules of a record.

    Parameters
    ----------
    sha256
        Digest of the rules' file, as the record names it; empty: the record was begun before rules were files, and is
        judged by the first.

    Raises
    ------
    LevelfieldError
        No such file is here, or this version counts windows by other rules.
    """
    if not sha256:
        return next(iter(_all().values()))
    if sha256 in _all() and _counting(_all()[sha256]) != built_in():
        raise LevelfieldError(
            f"The record was begun under rules {_all()[sha256].number}, and this version counts windows by others.",
            fix="Analyse it with the version of Levelfield that took it.",
        )
    if sha256 not in _all():
        raise LevelfieldError(
            f"The rules {sha256[:12]} that the record was begun under are not in {FOLDER.name}/.",
            fix="Analyse it with the version of Levelfield that took it, or a later one.",
        )
    return _all()[sha256]


def _counting(rules: Rules) -> tuple[Count, Disturbed]:
    return rules.count, msgspec.structs.replace(rules.disturbed, settling_ns=0)
