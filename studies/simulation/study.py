"""The questions that are answered by simulation, each under the very rules of the product."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

import msgspec
import numpy as np

from levelfield.analysis.summary import Answer
from levelfield.compare import upgrade
from levelfield.compare.effects import from_pairs
from levelfield.compare.policy import change_policy, judge
from levelfield.compare.types import Gate
from levelfield.statistics import bracket
from levelfield.statistics.arrays import Floats, without_missing
from levelfield.statistics.ranking import ArmRank, rank
from levelfield.statistics.student import FIRST_LOOK as FEWEST
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy, mean_of
from levelfield.statistics.verdicts import Verdict
from studies.simulation.world import BUSY, QUIET, Arm, Flags, Measured, Schedule, Unit, measure

HOURS = {"quiet": QUIET, "busy": BUSY}
LEVELS = {"openvino": 0.0, "onnxruntime": 0.02, "torch-compile": 0.13, "tensorflow": 0.4, "tensorflow-xla": 0.45}
SEVEN = tuple(Arm(*each) for each in (LEVELS | {"torch": 0.6, "jax": 0.7}).items())
"""A block of a default run; times relative to one another about as on ResNet-50."""
DEFAULT = Schedule(generations=12, measuring_s=4.0, apart_s=10.0)
"""Three or four seconds of windows in a generation, and other cases between two."""
PAIR = Schedule(generations=36, measuring_s=6.0, apart_s=4.0)
"""`ab` of one case for six minutes: a generation begins every ten seconds."""
FIRST_LOOK_S, GENERATION_S = 30.0, PAIR.measuring_s + PAIR.apart_s
FIRST_LOOK = max(FEWEST, math.ceil(FIRST_LOOK_S / GENERATION_S))
PAIRS = ((0, 1), (2, 3), (4, 5))
"""Arms of `SEVEN` whose ratios share no launch."""
UNITS: tuple[tuple[Unit, float], ...] = (
    *(("all windows", 0.0), ("by window", 0.0), ("by window", 0.03), ("by round", 0.0), ("by round", 0.03)),
)
"""What is taken again, and by how much a window is slower whose arm spins on into the probe."""
Draw: TypeAlias = Callable[[], np.random.Generator]
ALONE = Schedule(generations=15, measuring_s=1.0, apart_s=10.0)
"""One arm, and no other: about a second of windows in a launch, those taken again among them."""
BOOTS = 5
SLOWDOWNS = {"3 %": 1.03, "7 %": 1.07}
STRAY_SHARE, STRAY = 0.02, 0.2
"""Launches that are far off for no cause that a probe sees, and by how much; log scale."""


class Taking(msgspec.Struct, frozen=True):
    """What is taken again, at equal time: the ratio of ONNX Runtime, whose threads disturb the probe, to OpenVINO."""

    hour: str
    unit: Unit
    spin_slows: float
    bias: float
    """Mean log ratio less the truth."""
    sd: float
    """Of the log ratio of a launch."""
    missing: float
    """Share of generations in which a launch of the pair has no value."""
    misses: float
    """Share of windows that counted though the machine was contended for more than half of them."""
    half_width: float | None
    """Median at 95 % of eight generations; None: most runs have fewer than five of them."""


class Coverage(msgspec.Struct, frozen=True):
    """Share of intervals of the calm ratio that hold it, of equal launches."""

    hour: str
    launches: int
    intervals: int
    at_95: float
    at_99: float


class Widths(msgspec.Struct, frozen=True):
    """Half widths in a block of seven arms, at 95 % together."""

    hour: str
    strays: float
    """Share of launches that are far off for a cause that no probe sees."""
    launches: int
    lead: float
    """Of the second arm over the best: median."""
    lead_9_of_10: float
    """The quantile below which nine of ten runs are."""
    every: float
    """Of every arm over the best: median."""
    together: float
    """Share of blocks in which all intervals hold."""


class Alarms(msgspec.Struct, frozen=True):
    """Identical arms, ranked in a block."""

    hour: str
    launches: int
    blocks: int
    twins: float
    """Blocks of six backends and a twin in which the twin and its original are called different."""
    any_of_seven: float
    """Blocks of seven identical arms in which any two are called different."""


class Modes(msgspec.Struct, frozen=True):
    """An arm of which some launches are in a slow mode, over one without: intervals at 95 %."""

    launches: int
    intervals: int
    holds: float
    """Share that holds the ratio of the usual mode."""
    half_width: float
    """Median."""
    half_width_9_of_10: float


class Decisions(msgspec.Struct, frozen=True):
    """`ab` of one case: what it says, and when."""

    hour: str
    strays: float
    effect: float
    budget_s: float
    trials: int
    found: float | None
    """Share called slower; None: there is no effect."""
    wrong: float
    """Share called faster, or different where there is no effect."""
    same: float
    seconds: float
    """Median time, that of undecided ones the whole budget."""


class Upgrade(msgspec.Struct, frozen=True):
    """`upgrade` of one arm: what a number of launches in each run finds."""

    hour: str
    launches: int
    """Of each run."""
    calm: float
    """Share of runs with enough calm launches; the others are of all windows."""
    spread: float
    """Standard deviation of runs, log scale."""
    calm_spread: float
    """The same of calm ones."""
    upgrades: int
    found: dict[str, float]
    """By slowdown, the share of upgrades that are called slower."""
    wrong: float
    """Share of those without a slowdown that are called slower, faster or drifted."""


class Study(msgspec.Struct, frozen=True):
    """All answers."""

    taking: tuple[Taking, ...]
    coverage: tuple[Coverage, ...]
    widths: tuple[Widths, ...]
    alarms: tuple[Alarms, ...]
    decisions: tuple[Decisions, ...]
    modes: tuple[Modes, ...]
    upgrades: tuple[Upgrade, ...]


def answer(seed: int, runs: int) -> Study:
    """Answer all questions, each hour by `runs` simulated runs."""
    seeds = iter(np.random.SeedSequence(seed).spawn(100))

    def draw() -> np.random.Generator:
        return np.random.default_rng(next(seeds))

    blocks = {hour: measure(draw(), runs, list(SEVEN), DEFAULT, contended=share) for hour, share in HOURS.items()}
    return Study(
        taking=tuple(_takings(draw, runs // 4)),
        coverage=tuple(found for hour, block in blocks.items() for found in _coverages(hour, block)),
        widths=tuple(found for hour, block in blocks.items() for found in _widths(draw(), hour, block)),
        alarms=tuple(found for hour in HOURS for found in _alarms(draw(), hour, runs // 2)),
        decisions=tuple(found for hour in HOURS for found in _decisions(draw(), hour, runs // 4)),
        modes=tuple(_modes(draw(), runs)),
        upgrades=tuple(_upgrades(draw, runs // 6)),
    )


def _takings(draw: Draw, runs: int) -> Iterator[Taking]:
    pair = [Arm("onnxruntime"), Arm("openvino"), *SEVEN[2:]]
    schedule = DEFAULT._replace(generations=8)
    for (hour, contended), (unit, spin_slows) in product(HOURS.items(), UNITS):
        taken = schedule._replace(unit=unit)
        found = measure(draw(), runs, pair, taken, contended=contended, spin_slows=spin_slows)
        ratios = found.levels[:, :, 0] - found.levels[:, :, 1]
        widths = [mean_of(values).half_width(0.95) for values in _present(ratios) if values.size >= MIN_LAUNCHES]
        half_width = float(np.median(widths)) if len(widths) > runs / 2 else None
        bias, sd, missing = float(np.nanmean(ratios)), float(np.nanstd(ratios)), float(np.isnan(ratios).mean())
        yield Taking(hour, unit, spin_slows, bias, sd, missing, found.misses, half_width)


def _present(ratios: Floats) -> Iterator[Floats]:
    """Yield the ratios of each run that has some."""
    return (without_missing(each) for each in ratios)


def _coverages(hour: str, block: Measured) -> Iterator[Coverage]:
    truth = [SEVEN[first].level - SEVEN[second].level for first, second in PAIRS]
    runs = [
        values - true
        for (first, second), true in zip(PAIRS, truth, strict=True)
        for values in _present(block.levels[:, :, first] - block.levels[:, :, second])
    ]
    for launches in range(MIN_LAUNCHES, DEFAULT.generations + 1):
        means = [mean_of(values[:launches]) for values in runs if values.size >= launches]
        if 2 * len(means) < len(runs):
            return
        held = [[abs(mean.value) <= mean.half_width(confidence) for mean in means] for confidence in (0.95, 0.99)]
        yield Coverage(hour, launches, len(means), float(np.mean(held[0])), float(np.mean(held[1])))


def _widths(rng: np.random.Generator, hour: str, block: Measured) -> Iterator[Widths]:
    for strays, levels in ((0.0, block.levels), (STRAY_SHARE, _with_strays(rng, block.levels))):
        for launches in (MIN_LAUNCHES, *range(7, 11)):
            blocks = [rank(run[:launches]) for run in levels[: len(levels) // 4]]
            halves = np.array([_halves(block) for block in blocks])
            lead, nine = float(np.nanmedian(halves[:, 0])), float(np.nanquantile(halves[:, 0], 0.9))
            together = float(np.mean([_all_hold(block) for block in blocks]))
            yield Widths(hour, strays, launches, lead, nine, float(np.nanmedian(halves)), together)


def _with_strays(rng: np.random.Generator, levels: Floats) -> Floats:
    return levels + np.where(rng.random(levels.shape) < STRAY_SHARE, STRAY, 0.0)


def _halves(block: Sequence[ArmRank]) -> list[float]:
    """Return the half widths of all arms but the first, which is the best; NaN: not ranked."""
    found = {each.arm: each.half_width for each in block}
    return [math.nan if (half := found[arm]) is None else half for arm in range(1, len(SEVEN))]


def _all_hold(block: Sequence[ArmRank]) -> bool:
    """Return whether every interval holds the ratio to the best of the arms that are ranked."""
    ranked = [(SEVEN[each.arm].level, each.low, each.high) for each in block if each.rank is not None]
    best = min((level for level, _, _ in ranked), default=0.0)
    return all(low <= math.exp(level - best) <= high for level, low, high in ranked if low and high)


def _alarms(rng: np.random.Generator, hour: str, blocks: int) -> Iterator[Alarms]:
    twins = [*SEVEN[:6], SEVEN[0]]
    equal = [Arm(arm.backend) for arm in SEVEN]
    measured = [measure(rng, blocks, arms, DEFAULT, contended=HOURS[hour]).levels for arms in (twins, equal)]
    for launches in (7, 8, 10):
        called = [[rank(levels[:launches]) for levels in each] for each in measured]
        pairs = [{(place.arm, fast) for place in block for fast in place.behind} for block in called[0]]
        twins_differ = float(np.mean([bool(pair & {(0, 6), (6, 0)}) for pair in pairs]))
        any_differ = float(np.mean([any(place.behind for place in block) for block in called[1]]))
        yield Alarms(hour, launches, blocks, twins_differ, any_differ)


def _modes(rng: np.random.Generator, runs: int) -> Iterator[Modes]:
    levels = measure(rng, runs, [Arm("jax", modes=True), Arm("torch")], DEFAULT, contended=QUIET).levels
    ratios = list(_present(levels[:, :, 0] - levels[:, :, 1]))
    for launches in (5, 7, 8, 10):
        means = [mean_of(values[:launches]) for values in ratios if values.size >= launches]
        halves = np.array([mean.half_width(0.95) for mean in means])
        held = np.abs([mean.value for mean in means]) <= halves
        half, nine = float(np.median(halves)), float(np.quantile(halves, 0.9))
        yield Modes(launches, len(means), float(held.mean()), half, nine)


def _decisions(rng: np.random.Generator, hour: str, trials: int) -> Iterator[Decisions]:
    twins = [Arm("onnxruntime"), Arm("onnxruntime")]
    levels = measure(rng, trials, twins, PAIR, contended=HOURS[hour]).levels
    astray = _with_strays(rng, levels)
    cases = [(0.0, effect, levels) for effect in (0.0, 0.02, 0.05)] + [(STRAY_SHARE, 0.0, astray)]
    for strays, effect, each in cases:
        ends = [_decide(values + math.log1p(effect)) for values in each[:, :, 1] - each[:, :, 0]]
        for budget_s in (90.0, 360.0):
            verdicts = [verdict if at <= budget_s else Verdict.UNDECIDED for verdict, at in ends]
            slower, faster, same = (
                float(np.mean([verdict is wanted for verdict in verdicts]))
                for wanted in (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME)
            )
            found, wrong = (slower, faster) if effect else (None, slower + faster)
            seconds = float(np.median([min(at, budget_s) for _, at in ends]))
            yield Decisions(hour, strays, effect, budget_s, trials, found, wrong, same, seconds)


def _upgrades(draw: Draw, upgrades: int) -> Iterator[Upgrade]:
    for (hour, contended), launches in product(HOURS.items(), (5, 10, 15)):
        levels, calm = _alone(draw, upgrades, launches, contended)
        called = {
            name: [_of_upgrade(*each, slowdown) for each in zip(levels, calm, strict=True)]
            for name, slowdown in ({"": 1.0} | SLOWDOWNS).items()
        }
        found = {name: float(np.mean([each == "slower" for each in called[name]])) for name in SLOWDOWNS}
        wrong = float(np.mean([each in {"slower", "faster", "drifted"} for each in called[""]]))
        spreads = float(levels.std()), float(levels[calm].std())
        yield Upgrade(hour, launches, float(calm.mean()), *spreads, upgrades, found, wrong)


def _alone(draw: Draw, upgrades: int, launches: int, contended: float) -> tuple[Floats, Flags]:
    """Return the levels of runs, and whether each is of calm windows; of shape (upgrades, 3, runs)."""
    units: tuple[Unit, ...] = ("by window", "all windows")
    schedules = [ALONE._replace(generations=launches, unit=unit) for unit in units]
    arms, runs = [Arm("onnxruntime")], 3 * BOOTS * upgrades
    calm, everything = (measure(draw(), runs, arms, each, contended=contended).levels[:, :, 0] for each in schedules)
    counts = (~np.isnan(calm)).sum(axis=1)
    enough = counts >= MIN_LAUNCHES
    levels = np.where(enough, np.nansum(calm, axis=1) / counts.clip(1), everything.mean(axis=1))
    shape = upgrades, 3, BOOTS
    return levels.reshape(shape), enough.reshape(shape)


def _of_upgrade(levels: Floats, calm: Flags, slowdown: float) -> str:
    phases = [
        [
            Answer("shown", cost=factor * math.exp(level), windows_of="calm" if known else "all")
            for level, known in zip(*runs, strict=True)
        ]
        for *runs, factor in zip(levels, calm, (1.0, slowdown, 1.0), strict=True)
    ]
    costs, why = upgrade.costs(phases)
    (found,) = bracket.judge([costs])
    return found.verdict.value if not why else Verdict.UNDECIDED.value


def _decide(ratios: Floats) -> tuple[Verdict, float]:
    """Look after every generation from the first look on; return the verdict, and the time of it."""
    policy = change_policy(Gate())
    for generations in range(FIRST_LOOK, ratios.size + 1):
        values = without_missing(ratios[:generations])
        if values.size < FEWEST:
            continue
        (found,) = judge([from_pairs(mean_of(values, EndedBy.VERDICT))], policy)
        if found.verdict is not Verdict.UNDECIDED:
            return found.verdict, generations * GENERATION_S - PAIR.apart_s
    return Verdict.UNDECIDED, math.inf
