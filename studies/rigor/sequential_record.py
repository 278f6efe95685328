"""The record of how often `ab` is wrong, and its tables."""

import enum
from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from studies.record import Record
from studies.rigor.record import Tally
from suite.report.markdown import table
from suite.statistics.proportions import Proportion, proportion


class Noise(enum.StrEnum):
    """Distribution of simulated launches, windows and rounds."""

    NORMAL = "normal"
    HEAVY = "heavy-tailed"
    """Student's t with three degrees of freedom, scaled to the same variance."""


class Windows(enum.StrEnum):
    """Which windows of a source a variance is of."""

    ALL = "all"
    COUNTED = "counted"
    """Those that `ab` counts."""


class Spread(msgspec.Struct, frozen=True):
    """Standard deviations within neighbouring pairs, log scale."""

    windows: Windows
    launch_sd: float
    window_sd: float
    round_sd: float


class Source(msgspec.Struct, frozen=True):
    """One framework of a published stream: its size, its costs and its variance."""

    stream: str
    """The record's name."""
    sha256: str
    """Of the record's file."""
    backend: str
    busy_share: float
    """Share of the time for which a competing process kept one CPU busy."""
    generations: int
    lanes: int
    """Pairs of arms."""
    rounds: int
    launch_s: float
    """Of one arm, until it is warm."""
    window_s: float
    budget_generations: int
    """Generations of a pair that the default budget of `ab` pays for."""
    spreads: tuple[Spread, ...]
    pair_sd: float
    """Of a generation's log ratio, as `ab` counts it."""
    autocorrelation: float
    """Of the log ratios of successive generations of a pair, at lag 1."""
    autocorrelation_reach: float
    """Half-width of its interval, were there none."""

    @property
    def name(self) -> str:
        return f"{self.stream}, {self.backend}"


class Counted(msgspec.Struct, frozen=True):
    """What became of the decisions with one effect."""

    tally: Tally
    generations: float | None
    """Of a decision, mean; None: there is no decision."""
    seconds: float | None
    """Machine time of a decision, mean."""
    wrong_after: tuple[int, ...]
    """Generations of each decision that called identical arms different, or a slower arm faster."""

    @property
    def same(self) -> Proportion | None:
        return proportion(self.tally.same, self.tally.decisions) if self.tally.decisions else None


class Replay(msgspec.Struct, frozen=True):
    """`ab` replayed on a source, or on several, with one budget."""

    source: str
    """Name of the source, or `quiet`, `busy` or `all`."""
    budget_generations: int | None
    """None: what the default budget pays for."""
    most: int
    """Generations of a decision at the most; of several sources, the largest number."""
    counted: tuple[Counted, ...]
    """By effect."""


class Simulation(msgspec.Struct, frozen=True):
    """`ab` simulated with the variance of a source."""

    source: str
    windows: Windows
    noise: Noise
    rounds: int
    """Windows of a launch."""
    most: int
    """Generations that the default budget pays for."""
    generation_s: float
    """Machine time of a generation of two arms."""
    counted: tuple[Counted, ...]


class Sequential(Record, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "sequential"

    updated: str
    tool_version: str
    rules_sha256: str
    """Digest of the file with the rules that were replayed."""
    seed: int
    """Of the simulation."""
    sources: tuple[Source, ...]
    replays: tuple[Replay, ...]
    simulations: tuple[Simulation, ...]


def markdown(record: Sequential) -> str:
    """Return all tables, and what is needed to read them."""
    lines = [
        "# How often `ab` is wrong, by the rule that ends it",
        "",
        _EXPLANATION,
        "",
        f"Rules SHA-256 {record.rules_sha256[:16]}…; seed of the simulation {record.seed}.",
        "",
    ]
    for budget in dict.fromkeys(each.budget_generations for each in record.replays):
        chosen = [each for each in record.replays if each.budget_generations == budget]
        title = "the default budget of `ab`" if budget is None else f"a budget of {budget} generations"
        replayed = table(("source", *_HEADINGS, "groups", "A/A by groups"), _replay_rows(chosen))
        lines += [f"## Replayed on published streams, {title}", "", *replayed, ""]
    headings = ("source", "windows", "noise", "rounds", *_HEADINGS[:3], "+1 % found", *_HEADINGS[3:])
    simulated = table(headings, _simulation_rows(record.simulations))
    lines += ["## Simulated, the default budget of `ab`", "", *simulated, ""]
    lines += ["## Variance of the sources", "", *table(_SOURCE_HEADINGS, _source_rows(record.sources))]
    return "\n".join(lines) + "\n"


_EXPLANATION = (
    "A/A: both arms are the same program. An effect multiplies the second arm's times. In brackets: exact 95 % "
    "intervals for independent decisions. *Groups* share no generation with one another; were each one observation, "
    "the interval of the A/A column would be the one in the last column. Generations and seconds are means of a "
    "decision; seconds are of both arms' launches and windows. Simulated with the variance of all windows of a source, "
    "and of those that `ab` counts, which was added after the first outcomes had been seen, as was the effect of 1 %."
)
_HEADINGS = ("most generations", "A/A called different", "A/A *same*", "+2 % found", "+5 % found", "+10 % found")
_SOURCE_HEADINGS = (
    "source",
    "generations × pairs × rounds",
    "windows",
    "launch",
    "window",
    "round",
    "log ratio of a generation",
    "lag-1 autocorrelation of it",
    "launch, window",
)


def _replay_rows(replays: Sequence[Replay]) -> list[tuple[str, ...]]:
    rows = []
    for each in replays:
        still = each.counted[0].tally
        low, high = still.clustered_low, still.clustered_high
        by_groups = "–" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f} %"
        rows.append((each.source, str(each.most), *_cells(each.counted), str(still.clusters), by_groups))
    return rows


def _simulation_rows(simulations: Sequence[Simulation]) -> list[tuple[str, ...]]:
    return [
        (each.source, each.windows.value, each.noise.value, str(each.rounds), str(each.most), *_cells(each.counted))
        for each in simulations
    ]


def _source_rows(sources: Sequence[Source]) -> list[tuple[str, ...]]:
    return [
        (
            each.name,
            f"{each.generations} × {each.lanes} × {each.rounds}",
            spread.windows.value,
            *(f"{100 * sd:.2f} %" for sd in (spread.launch_sd, spread.window_sd, spread.round_sd, each.pair_sd)),
            f"{each.autocorrelation:+.3f} (±{each.autocorrelation_reach:.3f} were there none)",
            f"{each.launch_s:.2f} s, {each.window_s:.2f} s",
        )
        for each in sources
        for spread in each.spreads
    ]


def _cells(counted: Sequence[Counted]) -> Iterator[str]:
    still, *effects = counted
    yield _share(still.tally.wanted)
    yield f"{_share(still.same)}, {_cost(still)}"
    for each in effects:
        yield f"{_share(each.tally.wanted)}, {_cost(each)}"


def _share(found: Proportion | None) -> str:
    if found is None:
        return "no decision"
    digits = 2 if found.trials >= 1000 else 1
    return f"{found.successes} of {found.trials} ({100 * found.low:.{digits}f}–{100 * found.high:.{digits}f} %)"


def _cost(counted: Counted) -> str:
    if counted.generations is None or counted.seconds is None:
        return "–"
    return f"{counted.generations:.1f} generations, {counted.seconds:.0f} s"
