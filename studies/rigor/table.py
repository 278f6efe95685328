"""A stream laid out as arrays, and what its parts cost: all that a rule may look at."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from studies.rigor.record import Generation
from suite.errors import LevelfieldError

Floats: TypeAlias = NDArray[np.float64]
Answer: TypeAlias = Literal["slower", "faster", "same", "inconclusive"]


@dataclass(frozen=True)
class Table:
    """Windows of a stream by generation, round and arm; generations are in the order of time."""

    median_ns: Floats
    """Shape (generations, rounds, arms)."""
    mean_ns: Floats
    start_s: Floats
    wall_s: Floats
    calls_ns: tuple[tuple[tuple[tuple[int, ...], ...], ...], ...]
    """First calls of each window, by generation, round and arm."""
    disturbed: NDArray[np.bool_]
    """Shape (generations, rounds, lanes)."""
    launch_s: Floats
    """Shape (generations,): what one arm's launch costs until it is warm."""
    canary_ns: Floats | None
    """Shape (generations, rounds): the canary's medians."""
    canary_s: Floats | None
    """When they were taken."""

    @property
    def generations(self) -> int:
        return int(self.median_ns.shape[0])

    @property
    def rounds(self) -> int:
        return int(self.median_ns.shape[1])

    @property
    def arms(self) -> int:
        return int(self.median_ns.shape[2])

    @property
    def lanes(self) -> int:
        """Pairs of arms."""
        return self.arms // 2

    def seconds(self, generation: int, arm: int, windows: int) -> float:
        """Machine time of one launch and its first windows."""
        return float(self.launch_s[generation] + self.wall_s[generation, :windows, arm].sum())


@dataclass(frozen=True)
class Outcome:
    """One decision of one rule."""

    answer: Answer
    """On the second arm, in comparison with the first."""
    cluster: int
    """Decisions of different clusters share no generation."""
    seconds: float
    """Machine time it consumed."""


@dataclass(frozen=True)
class Rule:
    """A way to decide whether the second of two arms is slower, and the schedule that goes with it."""

    name: str
    schedule: str
    source: str
    decide: Callable[[Table, float], list[Outcome]]
    """From a stream and a factor on the second arm's times to the decisions that the stream has room for."""
    ours: bool = False


def lay_out(generations: Sequence[Generation]) -> Table:
    """Return a stream as arrays."""
    if not generations:
        raise LevelfieldError("The stream holds no complete generation.", fix="Measure some first.")
    rounds, lanes = len(generations[0].rounds), len(generations[0].rounds[0].pairs)
    if any(len(g.rounds) != rounds or any(len(r.pairs) != lanes for r in g.rounds) for g in generations):
        raise LevelfieldError("The stream's generations are of different shape.", fix="The file was changed.")
    pairs = [[sorted(one.pairs, key=lambda pair: pair.lane) for one in each.rounds] for each in generations]
    windows = [[[window for pair in row for window in pair.windows] for row in each] for each in pairs]
    for row in itertools.chain.from_iterable(windows):
        row.sort(key=lambda window: window.arm)
        if [window.arm for window in row] != list(range(2 * lanes)):
            raise LevelfieldError("A window is missing in the stream.", fix="The file was changed.")
    canaries = [[one.canary for one in generation.rounds] for generation in generations]
    seen = all(canary is not None for row in canaries for canary in row)

    def numbers(field: str) -> Floats:
        return np.array([[[getattr(window, field) for window in row] for row in each] for each in windows], dtype=float)

    return Table(
        median_ns=numbers("median_ns"),
        mean_ns=numbers("mean_ns"),
        start_s=numbers("start_ns") / 1e9,
        wall_s=numbers("wall_ns") / 1e9,
        calls_ns=tuple(tuple(tuple(window.calls_ns for window in row) for row in each) for each in windows),
        disturbed=np.array([[[bool(pair.disturbed) for pair in row] for row in each] for each in pairs]),
        launch_s=np.array([(g.launch_ns + g.warm_up_ns) / 1e9 / (2 * lanes) for g in generations]),
        canary_ns=np.array([[c.median_ns for c in row if c] for row in canaries], dtype=float) if seen else None,
        canary_s=np.array([[c.start_ns / 1e9 for c in row if c] for row in canaries]) if seen else None,
    )
