"""What LoadGen costs for each query: differences launch by launch, as numbers and as Markdown."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from studies.estimates import Estimate, geometric_mean, mean
from studies.loadgen.record import Cell, Finding, Trial, Turn
from suite.report.markdown import table

GOAL_NS = 5_000.0
"""Wanted: what LoadGen adds to a query."""


def analyse(trial: Trial) -> Trial:
    """Return a record with its findings."""
    found = (_finding(cell, arm) for cell in trial.cells for arm in cell.arms)
    return msgspec.structs.replace(trial, findings=tuple(filter(None, found)))


def _finding(cell: Cell, arm: str) -> Finding | None:
    launches = sorted({turn.launch for turn in cell.turns if turn.arm == arm})
    pairs = [pair for number in launches if (pair := _sides(cell.turns, arm, number))]
    if not pairs:
        return None
    return Finding(
        model=cell.case.model,
        arm=arm,
        launches=len(pairs),
        call_ns=float(np.median([_median(bare, lambda turn: turn.median_ns) for bare, _ in pairs])),
        latency_ns=_difference(pairs, lambda turn: turn.median_ns),
        query_ns=_difference(pairs, lambda turn: turn.each_ns),
        p90=_ratio(pairs, lambda turn: turn.p90_ns),
    )


_Sides = tuple[list[Turn], list[Turn]]


def _sides(turns: Sequence[Turn], arm: str, launch: int) -> _Sides | None:
    """Return the bare windows and the tests of one launch; None where it lacks either."""
    of_launch = [turn for turn in turns if turn.arm == arm and turn.launch == launch]
    bare = [turn for turn in of_launch if turn.kind == "bare"]
    driven = [turn for turn in of_launch if turn.kind == "LoadGen"]
    return (bare, driven) if bare and driven else None


def _median(turns: Sequence[Turn], value: Callable[[Turn], float]) -> float:
    """Return the median over a launch's turns."""
    return float(np.median([value(turn) for turn in turns]))


def _difference(pairs: Sequence[_Sides], value: Callable[[Turn], float]) -> Estimate:
    return mean([_median(driven, value) - _median(bare, value) for bare, driven in pairs])


def _ratio(pairs: Sequence[_Sides], value: Callable[[Turn], float]) -> Estimate:
    return geometric_mean([_median(driven, value) / _median(bare, value) for bare, driven in pairs])


def markdown(trial: Trial) -> str:
    """Return the table and what is needed to read it."""
    return "\n".join(_lines(trial))


def _lines(trial: Trial) -> Iterator[str]:
    yield (
        "SingleStream of MLPerf LoadGen inside the worker, less bare calls of the same loaded model. Means over "
        "launches; in brackets their 95 % t intervals.\n"
    )
    yield from table(
        ("model", "arm", "launches:", "bare call:", "latency adds:", "a query takes more:", "90th percentile, ratio:"),
        (
            (
                each.model,
                each.arm,
                str(each.launches),
                f"{each.call_ns / unit[0]:.1f} {unit[1]}",
                each.latency_ns.written(unit[1], per=unit[0]),
                each.query_ns.written(unit[1], per=unit[0]),
                each.p90.written(digits=4),
            )
            for each in trial.findings
            for unit in (_unit(each.call_ns),)
        ),
    )
    yield ""
    for each in trial.findings:
        high = each.query_ns.high
        reached = high is not None and high <= GOAL_NS
        yield (
            f"- {each.model} on {each.arm}: LoadGen's own cost of a query is "
            f"{'shown to be' if reached else 'not shown to be'} {GOAL_NS / 1e3:g} µs or less."
        )
    yield ""
    versions = ", ".join(sorted({cell.version for cell in trial.cells}))
    yield (
        "*Latency adds*: LoadGen's median latency less the median of bare calls. *A query takes more*: LoadGen's rate "
        "counts all that happens from one query to the next; a bare call's is that of its whole window. LoadGen "
        f"{versions}; launcher {trial.launcher}; seed {trial.seed}; load average {trial.load_before[0]:.1f} before, "
        f"{trial.load_after[0]:.1f} after. Started {trial.started}.\n"
    )


def _unit(call_ns: float) -> tuple[float, str]:
    """Return how many nanoseconds a unit has that fits a call, and its name."""
    return (1e6, "ms") if call_ns >= 1e6 else (1e3, "µs")
