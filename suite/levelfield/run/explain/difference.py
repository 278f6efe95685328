"""Which operators' time differs between two arms: from profiles of several launches each, as pure functions."""

import math
import statistics
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from levelfield.run.explain.rows import rows
from levelfield.statistics.arrays import Floats
from levelfield.statistics.student import mean_of
from levelfield.statistics.verdicts import DEFAULT_Q, benjamini_hochberg
from levelfield.worker.messages import Profiled


class Change(msgspec.Struct, frozen=True):
    """What one kind of operator, or the whole call, takes in both arms; microseconds in one call of the model."""

    name: str
    old_us: float
    new_us: float
    difference_us: float
    """New less old: the mean over pairs of launches."""
    low_us: float
    high_us: float
    """Its interval."""
    differs: bool
    """Whether it differs, at a false discovery rate of 1 % over all operators."""


class Difference(msgspec.Struct, frozen=True):
    """Two arms' profiles, side by side."""

    case: str
    old: str
    new: str
    launches: int
    """Of each arm; they took turns."""
    call: Change
    """The call without the profiler, in the same launches."""
    operators: tuple[Change, ...]
    """The largest difference first."""
    slowdown: float
    """Of a call, by the profiler; the larger of both arms."""
    source: str
    """The profiler."""

    @property
    def accounted(self) -> float:
        """Return the share of the call's difference that all operators' differences add up to."""
        whole = self.call.difference_us
        return sum(each.difference_us for each in self.operators) / whole if whole else math.nan


def compare_profiles(case: str, old: str, new: str, pairs: Sequence[tuple[Profiled, Profiled]]) -> Difference:
    """Compare the operators of two arms.

    `pairs`: a profile of a launch of each arm, made one after the other; at least two pairs.
    """
    tables = [
        tuple({row.operator: row.self_us for row in rows(each, by_layer=False)} for each in pair) for pair in pairs
    ]
    names = sorted({name for pair in tables for table in pair for name in table})
    times = {
        name: (_array(pair[0].get(name, 0.0) for pair in tables), _array(pair[1].get(name, 0.0) for pair in tables))
        for name in names
    }
    tests = [mean_of(second - first).p_value for first, second in times.values()]
    found = benjamini_hochberg(tests).found if tests else ()
    level = DEFAULT_Q * max(sum(found), 1) / max(len(names), 1)
    operators = [
        _change(name, *times[name], confidence=1 - level, differs=differs)
        for name, differs in zip(names, found, strict=True)
    ]
    plain = [_array(statistics.median(each.plain_ns) / 1000 for each in side) for side in zip(*pairs, strict=True)]
    whole = mean_of(plain[1] - plain[0]).p_value <= DEFAULT_Q
    return Difference(
        case=case,
        old=old,
        new=new,
        launches=len(pairs),
        call=_change("the whole call", plain[0], plain[1], confidence=1 - DEFAULT_Q, differs=whole),
        operators=tuple(sorted(operators, key=lambda each: -abs(each.difference_us))),
        slowdown=max(
            statistics.median(statistics.median(each.profiled_ns) / statistics.median(each.plain_ns) for each in side)
            for side in zip(*pairs, strict=True)
        ),
        source=pairs[0][0].source,
    )


def _times(profiled: Profiled) -> dict[str, float]:
    return {row.operator: row.self_us for row in rows(profiled, by_layer=False)}


def _array(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)


def _change(name: str, old: Floats, new: Floats, *, confidence: float, differs: bool) -> Change:
    differences = new - old
    mean = mean_of(differences)
    low, high = mean.value - mean.half_width(confidence), mean.value + mean.half_width(confidence)
    return Change(name, float(old.mean()), float(new.mean()), mean.value, low, high, differs)
