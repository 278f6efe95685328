"""What `ab` decides on a stream: a decision begins with the generation after the one that ended the last."""

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from studies.streams.record import Level, Pair, Streams, Taken
from suite.compare.effects import from_pairs
from suite.compare.types import Gate
from suite.compare.verdicts import change_policy, judge
from suite.report.markdown import table
from suite.schedule.passes import FIRST_LOOK_S
from suite.statistics.ending import EndedBy
from suite.statistics.proportions import proportion
from suite.statistics.student import FIRST_LOOK, MIN_LAUNCHES, mean_of
from suite.statistics.verdicts import Verdict

BUDGET = 36
"""Generations: those of `ab` within six minutes in the simulation."""
FOUND = 0.05
"""The effect that has to be found in `GOAL` of all decisions."""
GOAL = 0.95


class Decision(NamedTuple):
    """How a decision ended."""

    verdict: Verdict
    generations: int
    seconds: float
    log_ratio: float | None
    """None: too few generations had both arms."""


class Findings(NamedTuple):
    """All decisions on the pairs of one backend and effect."""

    decisions: tuple[Decision, ...]
    cut_off: int
    """Decisions that the end of a stream cut off."""


def decisions(pair: Pair, *, states: bool) -> tuple[tuple[Decision, ...], bool]:
    """Return the decisions on a pair, and whether the end of the stream cut one off.

    Parameters
    ----------
    pair
        With its levels.
    states
        Whether calm windows alone count, as in `ab`; else all of them.
    """
    made: list[Decision] = []
    first = 0
    for end in range(1, len(pair.generations) + 1):
        found = decide(pair.generations[first:end], states=states)
        if found is not None:
            made.append(found)
            first = end
    return tuple(made), first < len(pair.generations)


def decide(taken: Sequence[Taken], *, states: bool) -> Decision | None:
    """Return what `ab` decides after the last of these generations; None: it goes on.

    Parameters
    ----------
    taken, states
        What was measured since the last decision; as in `decisions`.
    """
    seconds, spent = sum(each.seconds for each in taken), len(taken) >= BUDGET
    if len(taken) < FIRST_LOOK or (seconds < FIRST_LOOK_S and not spent):
        return None
    verdict, log_ratio = Verdict.INCONCLUSIVE, None
    ratios = _ratios(taken, states=states)
    if len(ratios) >= FIRST_LOOK:
        effect = from_pairs(mean_of(np.array(ratios), EndedBy.VERDICT))
        (found,) = judge([effect], change_policy(Gate()))
        verdict, log_ratio = found.verdict, effect.log_ratio
    if verdict is Verdict.INCONCLUSIVE and not spent:
        return None
    return Decision(verdict, len(taken), seconds, log_ratio)


def _ratios(taken: Sequence[Taken], *, states: bool) -> list[float]:
    calm = states and not any(map(_is_starved, zip(*((each.first, each.second) for each in taken), strict=True)))
    both = [(each.first.calm, each.second.calm) if calm else (each.first.every, each.second.every) for each in taken]
    return [second - first for first, second in both if first is not None and second is not None]


def _is_starved(launches: Sequence[Level]) -> bool:
    """Return whether an arm lacks calm launches, as `suite.analysis.launch_levels` says it."""
    measured = [each for each in launches if each.windows]
    calm = sum(each.calm_windows > 0 for each in measured)
    return calm < MIN_LAUNCHES <= len(measured) or (calm == 0 and bool(measured))


def is_wrong(verdict: Verdict, effect: float) -> bool:
    """Return whether a verdict is false: within the margin an effect may be called *same* or *slower*."""
    match verdict:
        case Verdict.SAME:
            return effect >= Gate().margin
        case Verdict.SLOWER:
            return effect == 0
        case _:
            return verdict is Verdict.FASTER


def find(record: Streams, backend: str, effect: float, *, states: bool) -> Findings:
    """Return the decisions on all pairs of a backend and an effect."""
    pairs = [
        pair for stream in record.streams for pair in stream.pairs if (pair.backend, pair.effect) == (backend, effect)
    ]
    found = [decisions(pair, states=states) for pair in pairs]
    return Findings(tuple(each for made, _ in found for each in made), sum(cut_off for _, cut_off in found))


def markdown(record: Streams) -> str:
    """Return the tables of a record."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Streams) -> Iterator[str]:
    yield f"# Decisions of `ab` in streams: {record.case}\n"
    yield (
        "A stream is one run of pairs of arms, all alive together; the second arm of a pair is the same thing, slowed "
        "down by the effect in every call. The rule of `ab` is applied after each generation. The next decision begins "
        f"with the generation after a verdict, or after {BUDGET} generations: no two share a launch. A decision's "
        "seconds are its pair's share of the time that all pairs took; what the end of a stream cuts off is no "
        "decision.\n"
    )
    yield "## Streams\n"
    yield from table(
        ("started", "processor", "minutes:", "generations:", "calm probes:", "states"),
        (
            (
                stream.started,
                str(stream.machine.get("cpu", {}).get("model", "unknown")),
                f"{sum(each.seconds for pair in stream.pairs for each in pair.generations) / 60:.0f}",
                str(len(stream.pairs[0].generations)),
                "–" if stream.calm_share is None else f"{100 * stream.calm_share:.0f} %",
                stream.knowledge,
            )
            for stream in record.streams
        ),
    )
    kinds = sorted({(pair.backend, pair.effect) for stream in record.streams for pair in stream.pairs})
    cells = {(states, *kind): find(record, *kind, states=states) for states, kind in product((True, False), kinds)}
    yield "\n## Decisions\n"
    yield from table(
        ("windows", "backend", "effect:", "decisions:", "same:", "slower:", "faster:", "inconclusive:", "wrong:",
         "cut off:", "generations, median:", "seconds, median:", "mean error:"),
        (
            ("calm" if states else "all", backend, f"{100 * effect:.0f} %", *_cells(found, effect))
            for (states, backend, effect), found in cells.items()
        ),
    )  # fmt: skip
    yield (
        f"\n*Wrong*: identical arms called different, an effect of the margin ({100 * Gate().margin:.0f} %) or more "
        "called same, or any called faster.\n"
    )
    calm = [
        (effect, each.verdict) for (states, _, effect), found in cells.items() if states for each in found.decisions
    ]
    large = [verdict is Verdict.SLOWER for effect, verdict in calm if effect == FOUND]
    alike = [is_wrong(verdict, effect) for effect, verdict in calm if effect == 0]
    yield f"- {100 * FOUND:.0f} % found, in {100 * GOAL:.0f} % or more by the goal: {_share(large)}."
    yield f"- Identical arms called different, none by the goal: {_share(alike)}."


def _cells(found: Findings, effect: float) -> Iterator[str]:
    made = found.decisions
    yield str(len(made))
    for verdict in (Verdict.SAME, Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE):
        yield str(sum(each.verdict is verdict for each in made))
    yield str(sum(is_wrong(each.verdict, effect) for each in made))
    yield str(found.cut_off)
    yield f"{statistics.median(each.generations for each in made):g}" if made else "–"
    yield f"{statistics.median(each.seconds for each in made):.0f}" if made else "–"
    errors = [each.log_ratio - math.log1p(effect) for each in made if each.log_ratio is not None]
    yield f"{100 * statistics.fmean(errors):+.2f} %" if errors else "–"


def _share(hits: Sequence[bool]) -> str:
    if not hits:
        return "no decision"
    found = proportion(sum(hits), len(hits))
    return f"{found.successes} of {found.trials} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"
