"""How often `ab` is wrong by the rule that it uses: replayed on published streams, and simulated from their variance.

The rule of this trial, fixed before an outcome was seen:

* **Replay.** A stream is cut into decisions that share no launch. Arms 2k and 2k + 1 are a pair. A pair's decision
  takes generations in the order of time, with an interim analysis after each from the fourth on, until there is a
  verdict or the budget is spent; the next decision begins with the next generation, and what the end of the stream
  cuts off is none. All rounds that the stream has of a generation are given to `ab`. Constants are those of the newest
  file of rules; which rounds were disturbed is for each stream's own file to say. In a stream of two frameworks each is
  one source.
* **Budgets** are numbers of generations (`BUDGETS`): two short ones, which give more decisions, and the number that
  takes the default budget of `ab` at the stream's mean cost of a generation. Each budget cuts the stream anew, so the
  decisions of different budgets are not added up.
* **Effects** multiply the recorded times of the second arm. Each effect cuts the stream anew.
* **Simulation.** Launches, windows and the drift of rounds are drawn with the standard deviations of each source
  (neighbouring pairs), normal and as Student's t with three degrees of freedom. A launch has as many rounds as the
  product's formula says they are worth; the budget is the default one. Disturbed rounds and slow starts are not
  simulated: rounds are reduced to levels by `levels_of_windows` alone, and judged by `as_ab`.

Changed after the first outcomes were seen, in the simulation alone: it was of the variance of all windows. `ab` plans
its rounds and judges by those that count, which vary far less, so it is of both now; and it has an effect of 1 %.
"""

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from studies.record import read
from studies.rigor import rules
from studies.rigor.disturbance import judge_again
from studies.rigor.drift import autocorrelations
from studies.rigor.findings import count, root_mean_square
from studies.rigor.ours import (
    Decision,
    as_ab,
    as_outcomes,
    counted_windows,
    fewest,
    generation_seconds,
    levels_of,
    pair_windows,
    until_verdict,
)
from studies.rigor.record import Stream
from studies.rigor.rules import Rules
from studies.rigor.sequential_record import Counted, Noise, Replay, Sequential, Simulation, Source, Spread, Windows
from studies.rigor.table import Answer, Floats, Outcome, Table, lay_out
from suite.schedule import pacing
from suite.schedule.outcomes import utc_now
from suite.statistics.ending import EndedBy
from suite.statistics.levels import levels_of_windows
from suite.statistics.power import optimal_rounds
from suite.statistics.student import half_width
from suite.statistics.variance import VarianceSplit, split_variance
from suite.version import __version__

EFFECTS = (0.0, 0.02, 0.05, 0.10)
SIMULATED_EFFECTS = (0.0, 0.01, *EFFECTS[1:])
BUDGETS: tuple[int | None, ...] = (6, 12, None)
"""Generations of a decision at the most; None: what the default budget of `ab` pays for."""
SIMULATED = 20_000
"""Decisions on identical arms, of each source and noise."""
EFFECT_SHARE = 5
"""So many times fewer are simulated of each effect."""
_AT_ONCE = 1_000
"""Simulated decisions that are in memory together."""


def trial(
    paths: Sequence[Path], seed: int, simulated: int | None = None, effects: Sequence[float] = EFFECTS
) -> Sequential:
    """Replay `ab` on published streams, and simulate it.

    Parameters
    ----------
    paths : sequence of Path
        Records of the rigor trial.
    seed : int
        Of the simulation.
    simulated : int
        Decisions on identical arms of each source and noise (default: `SIMULATED`); of each effect there are a fifth.
    effects : sequence of float
        Slowdowns of the second arm that are replayed; zero is among them.

    Raises
    ------
    LevelfieldError
        A file is no such record, or holds no complete generation.
    """
    sha256, frozen = rules.newest()
    laid_out = [each for path in paths for each in _tables(path)]
    sources = tuple(_source(path, backend, stream, table, frozen) for path, backend, stream, table in laid_out)
    tables = [table for _, _, _, table in laid_out]
    return Sequential(
        schema=Sequential.SCHEMA,
        updated=utc_now(),
        tool_version=__version__,
        rules_sha256=sha256,
        seed=seed,
        sources=sources,
        replays=tuple(
            itertools.chain.from_iterable(_replays(sources, tables, frozen, budget, effects) for budget in BUDGETS)
        ),
        simulations=tuple(
            simulate(source, spread, noise, frozen, seed=seed, decisions=simulated or SIMULATED)
            for source in sources
            for spread in source.spreads
            for noise in Noise
        ),
    )


def _tables(path: Path) -> Iterator[tuple[Path, str, Stream, Table]]:
    """Yield the stream of each framework of a record."""
    stream = read(path, Stream)
    settling_ns = rules.of(stream.rules_sha256).settling_ns
    table = lay_out(judge_again(stream.generations, stream.setup.case.threads, settling_ns))
    share = table.lanes // len(stream.setup.backends)
    for number, backend in enumerate(stream.setup.backends):
        yield path, backend, stream, table.part(slice(number * share, (number + 1) * share))


def _source(path: Path, backend: str, stream: Stream, table: Table, frozen: Rules) -> Source:
    differences = [np.diff(levels_of(table, lane), axis=1) for lane in range(table.lanes)]
    sizes = [each.size for each in differences]
    seconds = float(generation_seconds(table).mean())
    return Source(
        stream=path.stem,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        backend=backend,
        busy_share=stream.setup.busy_share,
        generations=table.generations,
        lanes=table.lanes,
        rounds=table.rounds,
        launch_s=float(table.launch_s.mean()),
        window_s=float(table.wall_s.mean()),
        budget_generations=int(frozen.stop.budget_s // seconds),
        spreads=tuple(_spread(table, windows) for windows in Windows),
        pair_sd=float(np.sqrt(np.average([each.var(ddof=1) for each in differences], weights=sizes))),
        autocorrelation=float(np.average([autocorrelations(each, 1)[0] for each in differences], weights=sizes)),
        autocorrelation_reach=1.96 / math.sqrt(sum(sizes)),
    )


def _spread(table: Table, windows: Windows) -> Spread:
    chosen = counted_windows if windows is Windows.COUNTED else pair_windows
    splits = [split_variance(chosen(table, lane)) for lane in range(table.lanes)]
    names = ("launch_sd", "window_sd", "round_sd")
    return Spread(windows, *(root_mean_square([getattr(split, name) for split in splits]) for name in names))


def _replays(
    sources: Sequence[Source], tables: Sequence[Table], frozen: Rules, budget: int | None, effects: Sequence[float]
) -> Iterator[Replay]:
    """Yield what `ab` says with one budget: of each source, of the quiet and the busy ones, and of all."""
    most = [budget or source.budget_generations for source in sources]
    made = [
        {effect: until_verdict(table, frozen, 1 + effect, generations) for effect in effects}
        for table, generations in zip(tables, most, strict=True)
    ]
    names = [source.name for source in sources]
    groups = [
        *((name, [number]) for number, name in enumerate(names)),
        ("quiet", [number for number, source in enumerate(sources) if not source.busy_share]),
        ("busy", [number for number, source in enumerate(sources) if source.busy_share]),
        ("all", list(range(len(sources)))),
    ]
    for name, members in groups:
        if not members:
            continue
        counted = []
        for effect in effects:
            chosen = [made[number][effect] for number in members]
            counted.append(_counted(effect, list(itertools.chain.from_iterable(chosen)), _grouped(chosen)))
        longest = max(most[number] for number in members)
        yield Replay(source=name, budget_generations=budget, most=longest, counted=tuple(counted))


def _grouped(sources: Sequence[Sequence[Decision]]) -> list[Outcome]:
    """Return the outcomes of several sources, whose groups of generations are different ones."""
    outcomes: list[Outcome] = []
    for decisions in sources:
        before = max((each.cluster for each in outcomes), default=-1) + 1
        outcomes += [replace(each, cluster=before + each.cluster) for each in as_outcomes(decisions)]
    return outcomes


def _counted(effect: float, decisions: Sequence[Decision], outcomes: Sequence[Outcome]) -> Counted:
    return Counted(
        tally=count(effect, outcomes),
        generations=float(np.mean([each.generations for each in decisions])) if decisions else None,
        seconds=float(np.mean([each.seconds for each in decisions])) if decisions else None,
        wrong_after=tuple(sorted(each.generations for each in decisions if _wrong(each.answer, effect))),
    )


def _wrong(answer: Answer, effect: float) -> bool:
    return answer == "faster" or (answer == "slower" and not effect)


def simulate(source: Source, spread: Spread, noise: Noise, frozen: Rules, *, seed: int, decisions: int) -> Simulation:
    """Simulate decisions of `ab` with the variance of a source.

    Parameters
    ----------
    source : Source
        Its costs.
    spread : Spread
        Its variance.
    noise : Noise
        How launches, windows and rounds are distributed.
    frozen : Rules
        Budget, level and margin.
    seed : int
        Of the draws.
    decisions : int
        On identical arms; of each effect there are a fifth.
    """
    rounds = rounds_of(source, spread)
    seconds = 2 * (source.launch_s + rounds * source.window_s)
    most = max(int(frozen.stop.budget_s // seconds), fewest(frozen))
    draw = np.random.default_rng([seed, *hashlib.sha256(f"{source.name}/{spread.windows}/{noise}".encode()).digest()])
    counted = []
    for effect in SIMULATED_EFFECTS:
        number = decisions if not effect else max(decisions // EFFECT_SHARE, 1)
        made: list[Decision] = []
        while len(made) < number:
            levels = draw_levels(draw, spread, noise, rounds, most, min(_AT_ONCE, number - len(made)))
            levels[:, :, 1] += math.log1p(effect)
            made += [
                Decision(as_ab(each[:end], frozen), 0, 0, int(end), float(end * seconds))
                for each, end in zip(levels, verdicts(levels, frozen)[0], strict=True)
            ]
        # Simulated decisions have nothing in common, so each is a cluster of its own.
        counted.append(_counted(effect, made, [Outcome(one.answer, n, one.seconds) for n, one in enumerate(made)]))
    return Simulation(source.name, spread.windows, noise, rounds, most, seconds, tuple(counted))


def rounds_of(source: Source, spread: Spread) -> int:
    """Return how many rounds `ab` would give a launch, once it knows its variance (`suite.schedule.pacing`).

    Parameters
    ----------
    source : Source
        What a launch and a window cost.
    spread : Spread
        Where the variance lies.
    """
    split = VarianceSplit(spread.launch_sd, spread.window_sd, spread.round_sd, 0, 0, 2)
    best = optimal_rounds(split, launch_seconds=source.launch_s, window_seconds=source.window_s)
    return min(max(best, pacing.FEWEST_ROUNDS), pacing.MOST_ROUNDS)


def draw_levels(
    draw: np.random.Generator, spread: Spread, noise: Noise, rounds: int, generations: int, decisions: int
) -> Floats:
    """Return simulated launch levels.

    Parameters
    ----------
    draw : numpy.random.Generator
        Source of random numbers.
    spread : Spread
        Standard deviations.
    noise : Noise
        Distribution of launches, windows and rounds.
    rounds, generations, decisions : int
        Windows of a launch, launches of an arm in a decision, and decisions.

    Returns
    -------
    ndarray, shape (decisions, generations, 2), log of time
    """

    def values(deviation: float, *shape: int) -> Floats:
        if noise is Noise.NORMAL:
            return deviation * draw.standard_normal(shape)
        return deviation / math.sqrt(3) * draw.standard_t(3, shape)  # its variance is 3

    rows = decisions * generations
    windows = values(spread.launch_sd, rows, 1, 2) + values(spread.window_sd, rows, rounds, 2)
    return levels_of_windows(windows + values(spread.round_sd, rows, rounds, 1)).reshape(decisions, generations, 2)


def verdicts(levels: Floats, frozen: Rules) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Return after how many generations each of many decisions ends, and its answer.

    It is what asking `as_ab` after every generation gives, for all decisions at a time: the first number of generations
    whose interval lies inside the margin at the confidence of an equivalence, or excludes 1 at that of a difference.

    Parameters
    ----------
    levels : ndarray, shape (decisions, generations, 2), log of time
        Of the launches of both arms.
    frozen : Rules
        Level and margin.

    Returns
    -------
    generations : ndarray, shape (decisions,)
        All of them where there is no verdict.
    answers : ndarray, shape (decisions,)
        As `as_ab` gives them.
    """
    differences = levels[:, :, 1] - levels[:, :, 0]
    least = fewest(frozen)
    numbers = np.arange(least, differences.shape[1] + 1)
    means = differences.cumsum(axis=1)[:, least - 1 :] / numbers
    squares = (differences**2).cumsum(axis=1)[:, least - 1 :]
    spreads = np.sqrt(np.maximum(squares - numbers * means**2, 0) / (numbers - 1))
    level = frozen.judge.ab_false_discovery_rate
    of_change, of_equivalence = (
        np.array([half_width(1.0, int(n), confidence=1 - tails * level, ended=EndedBy.VERDICT) for n in numbers])
        for tails in (1, 2)
    )
    same = np.abs(means) + of_equivalence * spreads <= math.log1p(frozen.judge.margin)
    decided = same | (np.abs(means) > of_change * spreads)
    decided[:, -1] = True  # by the budget
    rows, at = np.arange(len(levels)), decided.argmax(axis=1)
    changed = np.abs(means[rows, at]) > (of_change * spreads)[rows, at]
    kinds = [same[rows, at], changed & (means[rows, at] > 0), changed]
    return numbers[at], np.select(kinds, ["same", "slower", "faster"], "inconclusive")
