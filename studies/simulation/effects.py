"""What published records say of the two states: by how much contention slows every arm, and what modes JAX's MLP has.

A round is *contended* where the canary took at least `CONTENDED` of its low level in that block, and *calm* where it
took at most `CALM`; what lies between is left out. The canary is one window among those of its round, and a state may
change within a round: so factors are, if anything, too small.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from levelfield.record import files
from levelfield.record.schema import Block, Generation
from levelfield.statistics.arrays import Floats

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RECORDS = ("20261121-163925-standard-22a3", "20261124-213024-standard-a2f1")
"""Default runs of all backends."""
MODES = "20261125-204614-standard-1627"
"""The run with most launches of JAX's MLP."""
CALM, CONTENDED = 1.07, 1.15
LOW = 10
"""Percentile of a block's canary windows that is its low level."""
FEWEST = 2
"""Rounds of either state that a factor takes."""
SLOW_MODE = 1.5
"""A launch that takes so many times the median is in the slow mode."""


class Contention(msgspec.Struct, frozen=True):
    """What contention does to one backend."""

    backend: str
    factors: tuple[float, ...]
    """Time in contended rounds over time in calm ones, medians of windows: one for each case, ascending."""


class Modes(msgspec.Struct, frozen=True):
    """Launches of JAX's MLP, of which some take several times as long."""

    launches: int
    slow: int
    factor: float
    """Median of the slow ones over that of the others."""


def contention() -> tuple[Contention, ...]:
    """Return the factors of every backend, from the cases that met contention."""
    found: dict[str, list[float]] = {}
    for block in _blocks():
        windows, calm, contended = _states(block)
        for column, arm in enumerate(block.arms):
            seen = ~np.isnan(windows[:, column])
            quiet, busy = windows[seen & calm, column], windows[seen & contended, column]
            if min(quiet.size, busy.size) >= FEWEST:
                found.setdefault(arm.backend, []).append(round(float(np.exp(np.median(busy) - np.median(quiet))), 3))
    return tuple(Contention(backend, tuple(sorted(factors))) for backend, factors in sorted(found.items()))


def modes() -> Modes:
    """Return how many launches of JAX's MLP are slow, and by how much."""
    levels = np.exp([np.mean(windows) for each in _latency().generations if (windows := _windows(each, "jax"))])
    slow = levels > SLOW_MODE * np.median(levels)
    return Modes(levels.size, int(slow.sum()), round(float(np.median(levels[slow]) / np.median(levels[~slow])), 2))


def _latency() -> Block:
    blocks = files.read(REPORTS / MODES).blocks
    (found,) = (block for block in blocks if (block.case.model, block.case.scenario) == ("mlp", "latency"))
    return found


def _windows(generation: Generation, arm: str) -> list[float]:
    """Return log medians of an arm's windows."""
    return [
        float(np.log(np.median(turn.window.samples_ns)))
        for one in generation.rounds
        for turn in one.turns
        if turn.arm == arm and turn.window is not None and turn.window.samples_ns
    ]


def _blocks() -> Iterator[Block]:
    for name in RECORDS:
        for block in files.read(REPORTS / name).blocks:
            if block.canary is not None and any(each.rounds for each in block.generations):
                yield block


def _states(block: Block) -> tuple[Floats, Floats, Floats]:
    """Return log medians of windows, shape (rounds, arms), and which rounds are calm and which are contended."""
    names = [*(arm.id for arm in block.arms), block.canary]
    table = np.full((sum(len(each.rounds) for each in block.generations), len(names)), np.nan)
    for row, one in enumerate(each for generation in block.generations for each in generation.rounds):
        for turn in one.turns:
            if turn.arm in names and turn.window is not None and turn.window.samples_ns:
                table[row, names.index(turn.arm)] = np.log(np.median(turn.window.samples_ns))
    level = np.exp(table[:, -1] - np.nanpercentile(table[:, -1], LOW))
    return table[:, :-1], level <= CALM, level >= CONTENDED
