"""A stream laid out as arrays, and what its parts cost: all that a rule may look at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suite.errors import LevelfieldError
from suite.trials.rigor.record import Generation

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

    def part(self, lanes: slice) -> "Table":
        """Return the same stream with these pairs of arms alone."""
        arms = slice(2 * (lanes.start or 0), None if lanes.stop is None else 2 * lanes.stop)
        return replace(
            self,
            median_ns=self.median_ns[:, :, arms],
            mean_ns=self.mean_ns[:, :, arms],
            start_s=self.start_s[:, :, arms],
            wall_s=self.wall_s[:, :, arms],
            calls_ns=tuple(tuple(row[arms] for row in each) for each in self.calls_ns),
            disturbed=self.disturbed[:, :, lanes],
        )

    def seconds(self, generation: int, arm: int, windows: int) -> float:
        """Machine time of one launch and its first windows.

        Parameters
        ----------
        generation, arm : int
            The launch.
        windows : int
            How many of its windows.

        Returns
        -------
        float
        """
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
    """Return a stream as arrays.

    Raises
    ------
    LevelfieldError
        There is no generation, or they are of different shape.
    """
    if not generations:
        raise LevelfieldError("The stream holds no complete generation.", fix="Measure some first.")
    rounds, lanes = len(generations[0].rounds), len(generations[0].rounds[0].pairs)
    if any(len(g.rounds) != rounds or any(len(r.pairs) != lanes for r in g.rounds) for g in generations):
        raise LevelfieldError("The stream's generations are of different shape.", fix="The file was changed.")
    numbers = np.zeros((5, len(generations), rounds, 2 * lanes))
    disturbed = np.zeros((len(generations), rounds, lanes), dtype=np.bool_)
    calls: list[list[list[tuple[int, ...]]]] = [
        [[() for _ in range(2 * lanes)] for _ in range(rounds)] for _ in generations
    ]
    for g, generation in enumerate(generations):
        for r, one in enumerate(generation.rounds):
            for pair in one.pairs:
                disturbed[g, r, pair.lane] = bool(pair.disturbed)
                for window in pair.windows:
                    row = (window.median_ns, window.mean_ns, window.start_ns / 1e9, window.wall_ns / 1e9, 1)
                    numbers[:, g, r, window.arm] = row
                    calls[g][r][window.arm] = window.calls_ns
    if not numbers[4].all():
        raise LevelfieldError("A window is missing in the stream.", fix="The file was changed.")
    canaries = [[one.canary for one in generation.rounds] for generation in generations]
    seen = all(canary is not None for row in canaries for canary in row)
    return Table(
        median_ns=numbers[0],
        mean_ns=numbers[1],
        start_s=numbers[2],
        wall_s=numbers[3],
        calls_ns=tuple(tuple(tuple(row) for row in each) for each in calls),
        disturbed=disturbed,
        launch_s=np.array([(g.launch_ns + g.warm_up_ns) / 1e9 / (2 * lanes) for g in generations]),
        canary_ns=np.array([[c.median_ns for c in row if c] for row in canaries], dtype=float) if seen else None,
        canary_s=np.array([[c.start_ns / 1e9 for c in row if c] for row in canaries]) if seen else None,
    )
