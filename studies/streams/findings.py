"""What `ab` decides on a stream: a decision begins with the generation after the one that ended the last."""

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from levelfield.compare.effects import from_pairs
from levelfield.compare.policy import change_policy, judge
from levelfield.compare.types import Gate
from levelfield.report.markdown import table
from levelfield.schedule.pacing import FIRST_LOOK_S
from levelfield.statistics.proportions import proportion
from levelfield.statistics.student import FIRST_LOOK, MIN_LAUNCHES, EndedBy, mean_of
from levelfield.statistics.verdicts import Verdict
from studies.streams.record import Level, Pair, Streams, Taken

BUDGET = 36
"""Generations of a decision: those of `ab` within six minutes in the simulation."""


class Decision(NamedTuple):
    """How a decision ended."""

    verdict: Verdict
    generations: int
    seconds: float
    log_ratio: float | None
    """None: too few generations had both arms."""


def decisions(pair: Pair, *, states: bool) -> tuple[list[Decision], bool]:
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
        if found := decide(pair.generations[first:end], states=states):
            made.append(found)
            first = end
    return made, first < len(pair.generations)


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
    arms = [each.first for each in taken], [each.second for each in taken]
    calm = states and not any(map(_is_starved, arms))
    levels = ((one.calm if calm else one.every for one in each) for each in zip(*arms, strict=True))
    return [second - first for first, second in levels if first is not None and second is not None]


def _is_starved(launches: Sequence[Level]) -> bool:
    """Return whether an arm lacks calm launches, by the rule of `analysis.launch_levels`."""
    measured = [each for each in launches if each.windows]
    calm = sum(each.calm_windows > 0 for each in measured)
    return calm < MIN_LAUNCHES <= len(measured) or (calm == 0 and bool(measured))


def is_wrong(verdict: Verdict, effect: float) -> bool:
    """Return whether a verdict is false: an effect within the margin may be called *same* or *slower*."""
    return (
        verdict is Verdict.FASTER
        or (verdict is Verdict.SLOWER and effect == 0)
        or (verdict is Verdict.SAME and effect >= Gate().margin)
    )


def markdown(record: Streams) -> str:
    """Return the tables of a record."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Streams) -> Iterator[str]:
    yield f"# Decisions of `ab` in streams: {record.case}\n"
    yield (
        "The rule of `ab` is applied to each pair after every generation. The next decision begins with the generation "
        f"after a verdict, or after {BUDGET} generations; what the end of a stream cuts off is none. Seconds are the "
        "pair's share of the time that all pairs took.\n"
    )
    yield "## Streams\n"
    yield from table(
        ("started", "processor", "minutes:", "generations:", "calm probes:", "states"),
        (
            (
                each.started,
                str(each.machine.get("cpu", {}).get("model", "unknown")),
                f"{sum(one.seconds for pair in each.pairs for one in pair.generations) / 60:.0f}",
                str(len(each.pairs[0].generations)),
                "–" if each.calm_share is None else f"{100 * each.calm_share:.0f} %",
                each.knowledge,
            )
            for each in record.streams
        ),
    )
    pairs = [pair for stream in record.streams for pair in stream.pairs]
    kinds = sorted({(pair.backend, pair.effect) for pair in pairs})
    found = {
        (states, *kind): [decisions(pair, states=states) for pair in pairs if (pair.backend, pair.effect) == kind]
        for states, kind in product((True, False), kinds)
    }
    made = {key: [each for one, _ in of_pairs for each in one] for key, of_pairs in found.items()}
    yield "\n## Decisions\n"
    yield from table(
        ("windows", "backend", "effect:", "decisions:", "same:", "slower:", "faster:", "inconclusive:", "wrong:",
         "cut off:", "generations, median:", "seconds, median:", "mean error:"),
        (
            ("calm" if states else "all", backend, f"{100 * effect:.0f} %",
             *_cells(made[states, backend, effect], effect, sum(cut_off for _, cut_off in of_pairs)))
            for (states, backend, effect), of_pairs in found.items()
        ),
    )  # fmt: skip
    yield (
        f"\n*Wrong*: identical arms called different, an effect of the margin ({100 * Gate().margin:.0f} %) or more "
        "called same, or any called faster. Goals, with calm windows and exact 95 % intervals:\n"
    )
    calm = [(effect, each.verdict) for (states, _, effect), some in made.items() if states for each in some]
    yield f"- 5 % called slower, at least 95 %: {_share([one is Verdict.SLOWER for e, one in calm if e == 0.05])}"
    yield f"- Identical arms called different, none: {_share([is_wrong(one, e) for e, one in calm if e == 0])}"


def _cells(made: Sequence[Decision], effect: float, cut_off: int) -> Iterator[str]:
    yield str(len(made))
    for verdict in (Verdict.SAME, Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE):
        yield str(sum(each.verdict is verdict for each in made))
    yield from (str(sum(is_wrong(each.verdict, effect) for each in made)), str(cut_off))
    yield f"{statistics.median(each.generations for each in made):g}" if made else "–"
    yield f"{statistics.median(each.seconds for each in made):.0f}" if made else "–"
    errors = [each.log_ratio - math.log1p(effect) for each in made if each.log_ratio is not None]
    yield f"{100 * statistics.fmean(errors):+.2f} %" if errors else "–"


def _share(hits: Sequence[bool]) -> str:
    if not hits:
        return "no decision."
    found = proportion(sum(hits), len(hits))
    return f"{found.successes} of {found.trials} ({100 * found.low:.1f} to {100 * found.high:.1f} %)."
