"""From the record of the trial to what its tables say."""

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from studies.overhead.record import Cell, Finding, Generation
from studies.peers.record import Decision, Trial, Truth
from suite.statistics.proportions import Proportion, proportion


class Spread(NamedTuple):
    """Several values of one thing."""

    median: float
    least: float
    most: float
    values: int


def spread(values: Sequence[float]) -> Spread | None:
    """Return median, extremes and their number; None of none.

    Examples
    --------
    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, least=1.0, most=3.0, values=3)
    """
    return Spread(statistics.median(values), min(values), max(values), len(values)) if values else None


class Called(NamedTuple):
    """What a tool that decides said over all repetitions of one truth."""

    tool: str
    truth: Truth
    share: Proportion
    """Called different where both are the same; called slower where the second is."""
    seconds: Spread
    apart: Spread | None
    """How far the two arms were apart by its own ratio, as shares."""
    answers: dict[str, int]


def ratios(trial: Trial) -> Iterator[tuple[Cell, Finding]]:
    """Yield each contrast with a bare loop, with its cell."""
    for cell in trial.cells:
        for finding in cell.findings:
            yield cell, finding


def supervisors(trial: Trial) -> dict[str, Spread]:
    """Return the share of a core that each tool's supervisor takes, by tool; those without one are left out."""
    found: dict[str, list[float]] = {}
    for cell in trial.cells:
        for generation in cell.generations:
            for window in (window for one in generation.rounds for window in one.windows):
                if window.supervisor_share is not None:
                    found.setdefault(window.arm, []).append(window.supervisor_share)
    for decision in trial.decisions:
        if decision.supervisor_share is not None:
            found.setdefault(decision.tool, []).append(decision.supervisor_share)
    return {tool: each for tool, values in found.items() if (each := spread(values)) is not None}


def called(decisions: Sequence[Decision]) -> tuple[Called, ...]:
    """Return what was said, by tool and truth."""
    groups: dict[tuple[str, Truth], list[Decision]] = {}
    for each in decisions:
        groups.setdefault((each.tool, each.truth), []).append(each)
    return tuple(_called(tool, truth, group) for (tool, truth), group in sorted(groups.items()))


def _called(tool: str, truth: Truth, group: Sequence[Decision]) -> Called:
    hits = sum(each.different if truth == "same" else each.found for each in group)
    seconds = spread([each.seconds for each in group])
    if seconds is None:
        raise ValueError("A group of decisions has one at least.")
    answers = [each.answer for each in group]
    return Called(
        tool=tool,
        truth=truth,
        share=proportion(hits, len(group)),
        seconds=seconds,
        apart=spread([abs(each.ratio - 1) for each in group if each.ratio is not None]),
        answers={answer: answers.count(answer) for answer in dict.fromkeys(answers)},
    )


def apart(cell: Cell, arm: str) -> Spread | None:
    """Return how far medians of two launches of one arm are apart that follow one another, as shares.

    A pair shares no launch with any other: the first launch and the second, the third and the fourth, and so on.
    """
    medians = [_median(generation, arm) for generation in cell.generations]
    pairs = zip(medians[::2], medians[1::2], strict=False)
    return spread([abs(second / first - 1) for first, second in pairs])


def _median(generation: Generation, arm: str) -> float:
    return statistics.median(
        window.median_ns for one in generation.rounds for window in one.windows if window.arm == arm
    )
