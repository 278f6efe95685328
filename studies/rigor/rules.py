"""The rules of the rigor trial, read from files that never change, so that a record can name what it is judged by.

Levelfield's own rule: two arms interleaved, launch-level t intervals of the ratio, and a margin.

Everything that decides is what the product uses: which windows count (`statistics.counting`), launch levels with
the drift of the pair's rounds removed, and what `bench` says of an interval. `ab` is tried by `studies.streams`.
"""

import hashlib
import tomllib
from functools import cache, partial
from pathlib import Path
from typing import cast

import msgspec
import numpy as np

from levelfield.errors import LevelfieldError
from levelfield.statistics.counting import count_windows
from levelfield.statistics.levels import levels_of_windows
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.verdicts import Verdict, verdict_of
from studies.rigor.record import Answer, Floats, Outcome, Rule, Table

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
        what = f"The rules {sha256[:12]} that the record was begun under are not in {FOLDER.name}/."
        raise LevelfieldError(what, fix="Analyse it with the version of Levelfield that took it, or a later one.")
    return known[sha256]


def ours(table: Table, frozen: Rules) -> list[Rule]:
    """Return what `bench` says of two arms; a row's name is the command."""
    level = f"{frozen.judge.bench_confidence:.0%}"
    return [
        Rule(
            f"bench, {size} launches",
            f"{size} launches of each arm, {table.rounds} interleaved rounds in each; judged by the {level} interval",
            "this repository, `statistics`",
            partial(_fixed, size, frozen),
            ours=True,
        )
        for size in frozen.launches.bench
    ]


def as_bench(levels: Floats, frozen: Rules) -> Answer:
    """Return what `bench` says of an arm that stands beside another, from launch levels, shape (generations, 2)."""
    interval = ratio_interval(levels[:, 1], levels[:, 0], confidence=frozen.judge.bench_confidence)
    verdict = verdict_of(interval.low, interval.high, margin=frozen.judge.margin)
    return "inconclusive" if verdict is Verdict.UNDECIDED else cast("Answer", verdict.value)


def generation_seconds(table: Table) -> Floats:
    """Return what each generation of each pair took, shape (generations, lanes)."""
    arms = table.launch_s[:, None] + table.wall_s.sum(axis=1)
    seconds: Floats = arms[:, 0::2] + arms[:, 1::2]
    return seconds


def levels_of(table: Table, lane: int, factor: float = 1.0, generations: slice = slice(None)) -> Floats:
    """Return the log levels of a pair's launches.

    As `analysis.launch_levels.level_matrix` returns them of a block of these two arms and the canary.
    """
    windows = np.log(table.median_ns[generations, :, 2 * lane : 2 * lane + 2])
    windows[:, :, 1] += np.log(factor)
    canary = np.log(table.canary_ns[generations]) if table.canary_ns is not None else None
    counting = count_windows(windows, table.disturbed[generations, :, lane].tolist(), canary=canary)
    levels: Floats = levels_of_windows(np.where(counting.windows, windows, np.nan))[counting.rounds.any(axis=1)]
    return levels


def _fixed(size: int, frozen: Rules, table: Table, factor: float) -> list[Outcome]:
    """Decide after so many generations each."""
    seconds = generation_seconds(table)
    outcomes = []
    for lane in range(table.lanes):
        for group in range(table.generations // size):
            chosen = slice(group * size, (group + 1) * size)
            answer = as_bench(levels_of(table, lane, factor, chosen), frozen)
            outcomes.append(Outcome(answer, group, float(seconds[chosen, lane].sum())))
    return outcomes
