"""Simulated upgrades: boots of an old stack, a new one and the old one again, on a machine that may drift.

The model, on the log scale, for boot b and case c::

    y[b, c] = effect of the new stack + machine[b] + sqrt(1/2) boot[b] + sqrt(1/2) own[b, c]

Half of the variance between boots is common to all cases of a boot. `machine` is the drift, or one bad boot.
"""

import enum
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from levelfield.statistics.arrays import Floats
from levelfield.statistics.bracket import Judged, Phases, bracket, judged, levels
from levelfield.statistics.proportions import Proportion, proportion
from levelfield.statistics.verdicts import Verdict

SHARED = 0.5
"""Part of the variance between boots that all cases of a boot have in common."""
_CASES_AT_ONCE = 400_000
"""Simulated cases that are in memory together."""


class Noise(enum.StrEnum):
    """Distribution of boots; either has the variance that is asked for."""

    NORMAL = "normal"
    HEAVY_TAILED = "heavy-tailed"
    """Student's t with three degrees of freedom."""


class Trouble(enum.StrEnum):
    """What the machine does."""

    NONE = "none"
    STEP_BEFORE_NEW = "step before the new stack"
    STEP_WITHIN_NEW = "step in the middle of the new stack"
    STEP_AFTER_NEW = "step after the new stack"
    STEP_ANYWHERE = "step anywhere"
    RAMP = "ramp over all boots"
    BAD_BEFORE = "one bad boot before"
    BAD_NEW = "one bad boot of the new stack"
    BAD_AFTER = "one bad boot after"


STEPS = (Trouble.STEP_BEFORE_NEW, Trouble.STEP_WITHIN_NEW, Trouble.STEP_AFTER_NEW, Trouble.STEP_ANYWHERE)
BAD_BOOTS = (Trouble.BAD_BEFORE, Trouble.BAD_NEW, Trouble.BAD_AFTER)


class Setting(msgspec.Struct, frozen=True):
    """Upgrades that are simulated alike."""

    boots: int
    """Of each phase."""
    cases: int = 1
    spread: float = 0.01
    """Standard deviation between boots, log scale."""
    noise: Noise = Noise.NORMAL
    trouble: Trouble = Trouble.NONE
    size: float = 0.0
    """Relative size of the trouble, the same in all cases: of the step, of the bad boot, or of the ramp between the
    means of before and after."""
    effect: float = 0.0
    """Relative effect of the new stack, in the first `changed` cases."""
    changed: int = 1
    new_spread: float = 1.0
    """Spread of the new stack over that of the old one."""
    way_back: bool = True
    """Whether the old stack has boots after the new one."""


class Tally(msgspec.Struct, frozen=True):
    """Upgrades of one setting in which any case was called so; *safe*: in which every case was."""

    setting: Setting
    slower: Proportion
    faster: Proportion
    drifted: Proportion
    slower_or_drifted: Proportion
    safe: Proportion


def tally(setting: Setting, upgrades: int, seed: int, *, margin: float = 0.02, level: float = 0.01) -> Tally:
    """Simulate upgrades and count their verdicts, each with its exact 95 % interval.

    Parameters
    ----------
    setting : Setting
        Of all of them.
    upgrades : int
        How many.
    seed : int
        Of the draws.
    margin, level : float
        As `statistics.bracket.judge` takes them.
    """
    verdicts = np.concatenate([found.verdict for found in _judged(setting, upgrades, seed, margin, level)])
    slower, faster, drifted = (
        (verdicts == each).any(axis=1) for each in (Verdict.SLOWER, Verdict.FASTER, Verdict.DRIFTED)
    )
    each = (slower, faster, drifted, slower | drifted, (verdicts == Verdict.SAFE).all(axis=1))
    return Tally(setting, *(proportion(int(called.sum()), upgrades) for called in each))


def _judged(setting: Setting, upgrades: int, seed: int, margin: float, level: float) -> Iterator[Judged]:
    rng = np.random.default_rng(seed)
    while upgrades:
        part = min(upgrades, max(_CASES_AT_ONCE // setting.cases, 1))
        noise = draw(rng, part, setting.cases, setting.boots, setting.noise)
        compared = bracket(phases(noise, setting, rng))
        yield judged(compared, levels(compared, margin=margin, level=level), margin=margin, level=level)
        upgrades -= part


def draw(rng: np.random.Generator, upgrades: int, cases: int, boots: int, noise: Noise) -> Floats:
    """Return what boots add to their costs, with variance 1.

    Parameters
    ----------
    rng : Generator
        Source of random numbers.
    upgrades, cases, boots : int
        How many: upgrades, cases of each, and boots of each phase.
    noise : Noise
        Distribution.

    Returns
    -------
    ndarray, shape (3, boots, upgrades, cases)
    """

    def values(*shape: int) -> Floats:
        normal = noise is Noise.NORMAL
        return rng.standard_normal(shape) if normal else rng.standard_t(3, shape) / math.sqrt(3)  # its variance is 3

    common, own = values(3, boots, upgrades, 1), values(3, boots, upgrades, cases)
    return math.sqrt(SHARED) * common + math.sqrt(1 - SHARED) * own


def phases(noise: Floats, setting: Setting, rng: np.random.Generator) -> Phases:
    """Return what is judged.

    Parameters
    ----------
    noise : ndarray, shape (3, boots, upgrades, cases)
        From `draw`.
    setting : Setting
        What is added to it.
    rng : Generator
        Of the place of a step.
    """
    _, boots, upgrades, cases = noise.shape
    logs = setting.spread * np.array([1.0, setting.new_spread, 1.0])[:, None, None, None] * noise
    logs += math.log1p(setting.size) * _machine(setting.trouble, boots, upgrades, rng)[..., None]
    logs[1, :, :, : setting.changed] += math.log1p(setting.effect)
    present = np.array([boots, boots, boots if setting.way_back else 0], dtype=np.float64)
    counts = np.broadcast_to(present[:, None, None], (3, upgrades, cases))
    return Phases(logs.mean(axis=1), logs.var(axis=1, ddof=1), counts)


def _machine(trouble: Trouble, boots: int, upgrades: int, rng: np.random.Generator) -> Floats:
    """Return the trouble in each boot, 1 where it is whole: shape (3, boots, upgrades)."""
    place = np.arange(3 * boots)[:, None]
    if trouble is Trouble.RAMP:
        return _by_phase(place / (2 * boots), boots, upgrades)
    if trouble in BAD_BOOTS:
        bad = rng.integers(boots, size=upgrades) + boots * BAD_BOOTS.index(trouble)
        return _by_phase(place == bad, boots, upgrades)
    if trouble is Trouble.STEP_ANYWHERE:
        return _by_phase(place >= rng.integers(1, 3 * boots, size=upgrades), boots, upgrades)
    first = {
        Trouble.STEP_BEFORE_NEW: boots,
        Trouble.STEP_WITHIN_NEW: boots + (boots + 1) // 2,
        Trouble.STEP_AFTER_NEW: 2 * boots,
    }
    return _by_phase(place >= first.get(trouble, 3 * boots), boots, upgrades)


def _by_phase(found: NDArray[Any], boots: int, upgrades: int) -> Floats:
    return np.broadcast_to(found.astype(np.float64), (3 * boots, upgrades)).reshape(3, boots, upgrades)
