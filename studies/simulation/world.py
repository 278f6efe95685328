"""A machine with two states, and arms on it: many runs at once, each with a clock of its own.

The machine is calm or contended. Stretches last about a second, and one in ten contended ones 5 to 15 s. Contention
slows every arm by its own factor. A window's value is a median of calls: it is slow where more than half of the window
was contended. Two probes, before and after, say in which state a window was. Effects are those of published records
(`studies.simulation.command`; a test holds them equal).
"""

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from levelfield.statistics.arrays import Floats

Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]
Unit: TypeAlias = Literal["all windows", "by window", "by round"]
"""What is counted, and what is taken again: everything and nothing; windows that are not calm; rounds that hold one."""

LAUNCH_SD, WINDOW_SD = 0.009, 0.016
"""Of an arm's launch, and of a window within it: Student's t3, log scale. The ratio of two launches of five windows
then scatters by 1.6 %; measured with probes, calm ones scattered by 1.1 to 1.7 %."""
FACTORS = {
    "jax": 1.34,
    "onnxruntime": 1.49,
    "openvino": 1.11,
    "tensorflow": 1.24,
    "tensorflow-xla": 1.44,
    "torch": 1.36,
    "torch-compile": 1.31,
}
"""Slowdown by contention: the largest of all cases."""
SLOW_MODE_SHARE, SLOW_MODE_FACTOR = 0.12, 2.7
"""Launches of JAX's MLP that are in the slow mode, and how slow it is."""
SPINNING = frozenset({"onnxruntime", "tensorflow", "tensorflow-xla"})
"""Backends whose threads may still spin when the probe begins."""
SPIN_SHARE = 0.095
"""Probes after them that read as contended though the machine is calm: 16.6 % are slow, where others have 7.8 %."""

SHORT_S, LONG_S, LONG_SHARE = 1.0, (5.0, 15.0), 0.1
"""Contended stretches: mean of the short ones, range of the long ones, and their share."""
QUIET, BUSY = 0.33, 0.66
"""Share of the time that is contended, in a quiet and in a busy hour."""

WINDOW_S, PROBE_S, IDLE_S = 0.05, 0.005, 0.02
POLL_S, LONGEST_WAIT_S, MOST_TAKES = 0.05, 1.5, 8
PROBE_SD, PROBE_CONTENDED = 0.015, 1.5
"""Spread of the probe in either mode, and the level of the contended one; the low mode is 1."""
LIMIT = 1.10
"""Of the low mode: above it a probe is contended."""


class Arm(NamedTuple):
    """An arm of a block."""

    backend: str
    level: float = 0.0
    """Log time when calm."""
    modes: bool = False
    """Whether some of its launches are in a slow mode."""


class Schedule(NamedTuple):
    """How a block is measured."""

    generations: int
    measuring_s: float
    """Time of a generation in which windows are taken."""
    apart_s: float
    """From the end of a generation's windows to the next one's: launches, and other cases."""
    unit: Unit = "by window"


class Measured(NamedTuple):
    """Many runs of a block."""

    levels: Floats
    """Mean log time of the windows that count, shape (runs, generations, arms); NaN where there is none."""
    counted: Floats
    """Windows that count, for each launch."""
    misses: float
    """Share of the windows that count in which the machine was contended for more than half of the time."""


class _Machine:
    """The states of many machines, each at its own time."""

    def __init__(self, rng: np.random.Generator, runs: int, contended: float) -> None:
        self._rng = rng
        mean = (1 - LONG_SHARE) * SHORT_S + LONG_SHARE * sum(LONG_S) / 2
        self._calm_s = mean * (1 - contended) / contended
        self.contended = rng.random(runs) < contended
        self.left_s = self._stretch(self.contended)
        """Of the present stretch."""
        self.wait(np.arange(runs), rng.uniform(30, 60, runs))

    def _stretch(self, contended: Flags) -> Floats:
        draw, size = self._rng, contended.size
        slow = np.where(draw.random(size) < LONG_SHARE, draw.uniform(*LONG_S, size), draw.exponential(SHORT_S, size))
        return np.where(contended, slow, draw.exponential(self._calm_s, size))

    def wait(self, which: Indices, seconds: Floats | float) -> Floats:
        """Let time pass on these machines, each its own; return how long each was contended."""
        spent = np.zeros(which.size)
        left = np.broadcast_to(seconds, which.shape).copy()
        places = np.arange(which.size)
        while places.size:
            now = which[places]
            step = np.minimum(left[places], self.left_s[now])
            spent[places] += np.where(self.contended[now], step, 0.0)
            left[places] -= step
            self.left_s[now] -= step
            places = places[left[places] > 0]
            ended = which[places]
            self.contended[ended] ^= True
            self.left_s[ended] = self._stretch(self.contended[ended])
        return spent


def measure(
    rng: np.random.Generator,
    runs: int,
    arms: list[Arm],
    schedule: Schedule,
    *,
    contended: float = QUIET,
    spin_slows: float = 0.0,
) -> Measured:
    """Measure many runs of a block.

    Parameters
    ----------
    contended
        Share of the time that the machine is.
    spin_slows
        By how much a window is slower, log scale, where the arm's threads spin on into the probe.
    """
    machine = _Machine(rng, runs, contended)
    block = _Block(rng, machine, arms, schedule, spin_slows)
    levels, counted = np.empty((2, runs, schedule.generations, len(arms)))
    for generation in range(schedule.generations):
        levels[:, generation], counted[:, generation] = block.generation()
        machine.wait(np.arange(runs), schedule.apart_s)
    return Measured(levels, counted, block.missed / max(block.taken, 1))


class _Block:
    def __init__(
        self, rng: np.random.Generator, machine: _Machine, arms: list[Arm], schedule: Schedule, spin_slows: float
    ) -> None:
        self._rng, self._machine, self._schedule = rng, machine, schedule
        self._runs, self._arms = machine.contended.size, len(arms)
        self._level = np.array([arm.level for arm in arms])
        self._factor = np.log([FACTORS[arm.backend] for arm in arms])
        self._spins = np.array([SPIN_SHARE if arm.backend in SPINNING else 0.0 for arm in arms])
        self._modes = np.array([SLOW_MODE_SHARE if arm.modes else 0.0 for arm in arms])
        self._spin_slows = spin_slows
        self._clock = np.zeros(self._runs)
        self.missed = self.taken = 0

    def generation(self) -> tuple[Floats, Floats]:
        """Launch all arms, and take windows while there is time; return the levels, and how many windows count."""
        shape = (self._runs, self._arms)
        launch = self._level + LAUNCH_SD / math.sqrt(3) * self._rng.standard_t(3, shape)
        launch += np.where(self._rng.random(shape) < self._modes, math.log(SLOW_MODE_FACTOR), 0.0)
        total, count = np.zeros(shape), np.zeros(shape)
        self._clock[:] = 0.0
        while self._in_time(np.arange(self._runs)).size:
            values, calm = self._round(launch)
            if self._schedule.unit == "by round":
                calm &= calm.all(axis=1, keepdims=True)
            total += np.where(calm, values, 0.0)
            count += calm
        return np.divide(total, count, out=np.full(shape, np.nan), where=count > 0), count

    def _in_time(self, which: Indices) -> Indices:
        return which[self._clock[which] < self._schedule.measuring_s]

    def _round(self, launch: Floats) -> tuple[Floats, Flags]:
        """Take a round, each run in an order of its own; return values, and which of them count."""
        values, counts = np.zeros(launch.shape), np.zeros(launch.shape, dtype=np.bool_)
        order = self._rng.permuted(np.tile(np.arange(self._arms), (self._runs, 1)), axis=1)
        for turn in order.T:
            open_ = self._in_time(np.arange(self._runs))
            for _ in range(MOST_TAKES if self._schedule.unit == "by window" else 1):
                if not open_.size:
                    break
                value, calm, slow = self._window(open_, turn[open_], launch)
                calm |= self._schedule.unit == "all windows"
                kept = open_[calm]
                values[kept, turn[kept]] = value[calm]
                counts[kept, turn[kept]] = True
                self.missed += int((calm & slow).sum())
                self.taken += kept.size
                open_ = self._in_time(open_[~calm])
        return values, counts

    def _window(self, runs: Indices, arms: Indices, launch: Floats) -> tuple[Floats, Flags, Flags]:
        """Take a window of one arm in each of these runs; return its value, whether it is calm, and was not."""
        self._pass(runs, IDLE_S)
        before = self._probe(runs)
        if self._schedule.unit != "all windows":
            self._wait_for_calm(runs, before)
        slow = self._pass(runs, WINDOW_S) > WINDOW_S / 2
        spins = self._rng.random(runs.size) < self._spins[arms]
        noise = WINDOW_SD / math.sqrt(3) * self._rng.standard_t(3, runs.size)
        value = launch[runs, arms] + noise + np.where(slow, self._factor[arms], 0.0) + spins * self._spin_slows
        return value, np.asarray((before <= LIMIT) & (self._probe(runs, spins) <= LIMIT)), slow

    def _wait_for_calm(self, runs: Indices, before: Floats) -> None:
        """Poll where the probe before is not calm; `before` is then that of the last poll."""
        (places,) = np.nonzero(before > LIMIT)
        waiting = runs[places]
        left_s = np.where(self._machine.contended[waiting], self._machine.left_s[waiting], 0.0)
        polls = np.maximum(np.ceil(left_s / POLL_S), 1)
        self._pass(waiting, np.minimum(polls * POLL_S, LONGEST_WAIT_S))
        before[places] = self._probe(waiting)

    def _probe(self, runs: Indices, spins: Flags | bool = False) -> Floats:
        slow = self._machine.contended[runs] | spins
        self._pass(runs, PROBE_S)
        return np.where(slow, PROBE_CONTENDED, 1.0) * np.exp(PROBE_SD * self._rng.standard_normal(runs.size))

    def _pass(self, runs: Indices, seconds: Floats | float) -> Floats:
        self._clock[runs] += seconds
        return self._machine.wait(runs, seconds)
