"""Simulated fleets: nodes that are alike but for a few, and runs that scatter.

The model, on the log scale, for node i, run r and case c::

    y[i, r, c] = effect[i, c] + node_sd (sqrt(s) node[i] + sqrt(1 - s) own[i, c])
               + run_sd (sqrt(1/2) run[i, r] + sqrt(1/2) rest[i, r, c])

All cases of a node share the part s of the variance between nodes, and all cases of a run half of that between runs.
The canary is one of the cases.
"""

import enum
import math
from collections.abc import Iterator

import msgspec
import numpy as np

from levelfield.statistics.arrays import Floats
from levelfield.statistics.proportions import Proportion, proportion
from levelfield_fleet.statistics.outliers import (
    LEVEL,
    MARGIN,
    NOISE_SHARE,
    Bools,
    Costs,
    call,
    compare_levels,
    compare_scatter,
    is_noisy,
)

SHARED_BY_RUN = 0.5
"""Part of the variance between runs of a node that all cases of a run have in common."""
_VALUES = 1 << 21
"""Runs of cases that are in memory together."""


class Noise(enum.StrEnum):
    """Distribution of runs and launches; either has the variance that is asked for. Nodes differ normally."""

    NORMAL = "normal"
    HEAVY_TAILED = "heavy-tailed"
    """Student's t with three degrees of freedom."""


class Setting(msgspec.Struct, frozen=True):
    """Fleets that are simulated alike."""

    nodes: int
    cases: int
    runs: int = 5
    node_sd: float = 0.01
    """Between nodes, log scale."""
    run_sd: float = 0.01
    """Between runs of a node, log scale."""
    noise: Noise = Noise.NORMAL
    shared: float = 0.5
    """Part of the variance between nodes that all cases have in common."""
    groups: int = 1
    """Kinds of hardware, with as many nodes each."""
    slow: int = 0
    """Nodes that are slow, the first ones."""
    effect: float = 0.0
    """Their relative slowdown."""
    slow_cases: int | None = None
    """In the first cases; None: in all."""
    paired: bool = False
    """Whether the levels of all cases are taken relative to that of the last one, the canary."""


class Tally(msgspec.Struct, frozen=True):
    """What became of the fleets of a setting."""

    setting: Setting
    flagged: Proportion
    """Fleets in which any node that is not slow was called slow or fast in any case."""
    odd: Proportion
    """Fleets in which any such node was not decided."""
    found: Proportion | None = None
    """Slow nodes that were called slow in a case in which they are; None: there are none."""


class Scatter(msgspec.Struct, frozen=True):
    """Fleets of which the scatter of launches is judged."""

    nodes: int
    cases: int
    runs: int
    launches: int
    noise: Noise
    flagged: Proportion
    """Fleets in which any node was called noisy in any case."""


def tally(setting: Setting, fleets: int, seed: int, *, level: float = LEVEL, margin: float = MARGIN) -> Tally:
    """Simulate fleets and count what their nodes are called."""
    flagged, odd, found = (
        np.concatenate(each) for each in zip(*_counted(setting, fleets, seed, level, margin), strict=True)
    )
    return Tally(
        setting,
        proportion(int(flagged.sum()), fleets),
        proportion(int(odd.sum()), fleets),
        proportion(int(found.sum()), found.size) if found.size else None,
    )


def _counted(
    setting: Setting, fleets: int, seed: int, level: float, margin: float
) -> Iterator[tuple[Bools, Bools, Bools]]:
    rng = np.random.default_rng(seed)
    cases = setting.cases - setting.paired
    each = (1 - NOISE_SHARE) * level / (setting.nodes * setting.groups * cases)
    per_fleet = setting.nodes * setting.groups * setting.runs * setting.cases
    at_once = max(_VALUES // per_fleet, 1)
    while fleets:
        part = min(fleets, at_once)
        # Fleets and groups are further cases: each is judged on its own.
        called = call(compare_levels(costs(draw(rng, part * setting.groups, setting))), each, margin=margin)
        shape = (setting.nodes, part, setting.groups, cases)
        slow, fast, odd = (one.reshape(shape) for one in (called.slow, called.fast, called.odd))
        fine = slice(setting.slow, None)
        wrong = fast.copy()
        wrong[fine] |= slow[fine]
        odd[: setting.slow] = False
        where = slice(None) if setting.slow_cases is None else slice(setting.slow_cases)
        found = slow[: setting.slow, :, :1, where].any(axis=(2, 3)).ravel()
        yield _in_any(wrong), _in_any(odd), found
        fleets -= part


def _in_any(called: Bools) -> Bools:
    """Return the fleets in which any node of any group is called so in any case."""
    return np.asarray(called.any(axis=(0, 2, 3)))


def draw(rng: np.random.Generator, groups: int, setting: Setting) -> Floats:
    """Return costs of simulated groups, shape (nodes, runs, groups * cases), log scale.

    Without the canary, where levels are relative to it.
    """
    nodes, runs, cases = setting.nodes, setting.runs, setting.cases

    def scattered(*shape: int) -> Floats:
        return values(rng, setting.noise, *shape)

    node = math.sqrt(setting.shared) * rng.standard_normal((nodes, 1, groups, 1))
    own = math.sqrt(1 - setting.shared) * rng.standard_normal((nodes, 1, groups, cases))
    run = math.sqrt(SHARED_BY_RUN) * scattered(nodes, runs, groups, 1)
    rest = math.sqrt(1 - SHARED_BY_RUN) * scattered(nodes, runs, groups, cases)
    found: Floats = setting.node_sd * (node + own) + setting.run_sd * (run + rest)
    found[: setting.slow, :, :, : setting.slow_cases] += math.log1p(setting.effect)
    if setting.paired:
        found = found[..., :-1] - found[..., -1:]
    return found.reshape(nodes, runs, -1)


def costs(runs: Floats) -> Costs:
    """Return simulated runs, of which no launches are known."""
    return Costs(runs, np.empty((*runs.shape[:2], 0, runs.shape[2])))


def values(rng: np.random.Generator, noise: Noise, *shape: int) -> Floats:
    """Return values with variance 1."""
    return rng.standard_normal(shape) if noise is Noise.NORMAL else rng.standard_t(3, shape) / math.sqrt(3)


def scatter(
    nodes: int, cases: int, runs: int, launches: int, noise: Noise, fleets: int, seed: int, *, level: float = LEVEL
) -> Scatter:
    """Simulate fleets whose nodes scatter alike, and count those in which any is called noisy."""
    rng = np.random.default_rng(seed)
    each = NOISE_SHARE * level / (2 * nodes * cases)  # as many tests of runs as of launches
    at_once = max(_VALUES // (nodes * runs * launches * cases), 1)
    flagged = 0
    for part in range(0, fleets, at_once):
        number = min(at_once, fleets - part)
        drawn = 0.01 * values(rng, noise, nodes, runs, launches, number * cases)
        noisy = is_noisy(compare_scatter(drawn), each).reshape(nodes, number, cases)
        flagged += int(noisy.any(axis=(0, 2)).sum())
    return Scatter(nodes, cases, runs, launches, noise, proportion(flagged, fleets))
