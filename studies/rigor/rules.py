"""The rules of the rigor trial, read from files that never change, so that a record can name what it is judged by."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError

FOLDER = Path(__file__).parent / "rules"


class Judge(msgspec.Struct, frozen=True):
    """What is said of a pair."""

    margin: float
    bench_confidence: float


class Launches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of launches where precision does not end the run."""

    bench: tuple[int, ...]


class Rules(msgspec.Struct, frozen=True):
    """What is still judged of one file; `ab` and precision targets are not."""

    number: int
    effects: tuple[float, ...]
    judge: Judge
    launches: Launches


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
