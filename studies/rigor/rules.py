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
    count: dict[str, float]
    """Constants of the rule which windows count."""
    disturbed: dict[str, float]
    """Constants of the rule by which a round is called disturbed; and `settling_ns`."""
    drift: Drift
    verdict: VerdictLooks | None = None
    """None: precision ended `ab`, as in the first rules."""

    @property
    def settling_ns(self) -> int:
        """CPU time of idle workers that a turn may hold: they spun while it began. 0: they stood still by then."""
        return int(self.disturbed["settling_ns"])


def built_in() -> tuple[dict[str, float], dict[str, float]]:
    """Return the constants that are fixed in the product's code, as `count` and `disturbed` of a file name them.

    Its turns begin when all workers stand still; how those of a stream began is for the stream's own rules to say.
    """
    count = {
        "calm_generations": student.MIN_LAUNCHES,
        "warm_up_level": warming.ALPHA,
        "warm_up_own_share": warming.OWN_SHARE,
        "warm_up_launches": warming.MIN_LAUNCHES,
        "warm_up_tolerance": warming.TOLERANCE,
    }
    names = ("steal_share", "others_share", "idle_workers_share", "pressure_share", "outside_share", "floor_ticks")
    return count, {**{name: getattr(disturbance, name.upper()) for name in names}, "settling_ns": 0}


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
    known = _all()
    if not sha256:
        return next(iter(known.values()))
    if sha256 not in known:
        raise LevelfieldError(
            f"The rules {sha256[:12]} that the record was begun under are not in {FOLDER.name}/.",
            fix="Analyse it with the version of Levelfield that took it, or a later one.",
        )
    found = known[sha256]
    if (found.count, {**found.disturbed, "settling_ns": 0}) != built_in():
        raise LevelfieldError(
            f"The record was begun under rules {found.number}, and this version counts windows by others.",
            fix="Analyse it with the version of Levelfield that took it.",
        )
    return found
