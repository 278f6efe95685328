"""Answers to data sets: how many are right, where arms disagree, and what a lower precision costs.

Shares of right answers have the exact interval of Clopper and Pearson; other measures are drawn again, item by item. A
precision is compared with the same arm's fp32 on the same items: shares by McNemar's test and Bonett and Price's
interval, others by drawing the pairs again. An interval says what other items of the same kind would change, and not
what another launch would: an arm's answers are nearly the same in every launch.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from levelfield.names import made_of
from levelfield.record.schema import Accuracy, DataSet, MetricName, Run
from levelfield.statistics import agreement, proportions
from levelfield.statistics.arrays import InsufficientData
from levelfield.statistics.proportions import proportion

BASE = "fp32"
_Places = NDArray[np.intp]
_Measure = Callable[[_Places], float]


class Score(msgspec.Struct, frozen=True):
    """One measure of an arm's answers; None: it is not defined, or there are too few items for an interval."""

    metric: MetricName
    value: float | None
    low: float | None
    high: float | None


class Row(msgspec.Struct, frozen=True):
    """One arm in one precision."""

    arm: str
    precision: str
    scores: tuple[Score, ...]
    others: int | None
    """Items to which most arms in this precision answered otherwise; None: it answered scores, or alone."""
    equal: bool | None
    failure: str = ""


class Loss(msgspec.Struct, frozen=True):
    """One arm in a lower precision, compared with itself in fp32."""

    arm: str
    precision: str
    metric: MetricName
    difference: float
    low: float | None
    high: float | None
    p: float | None
    """McNemar's; None: the measure is no share of right answers."""
    lost: int | None
    gained: int | None
    """Items that were right in fp32 alone, and in this precision alone."""
    changed: int | None
    """Items that got another answer, right or wrong; None: scores were answered."""


class Split(msgspec.Struct, frozen=True):
    """Items to which the arms of one precision did not all answer the same."""

    precision: str
    arms: int
    items: tuple[int, ...]
    """Their places in the data set, from 0."""


class Judgement(msgspec.Struct, frozen=True):
    """All answers to a data set on one device."""

    data_set: DataSet
    device: str
    rows: tuple[Row, ...]
    losses: tuple[Loss, ...]
    splits: tuple[Split, ...]


def summarise(run: Run) -> tuple[Judgement, ...]:
    """Return what answers to data sets were worth, one entry for each set and device."""
    found: list[Judgement] = []
    for known in run.data_sets:
        of_set = [each for each in run.accuracies if (each.task, each.model) == (known.task, known.model)]
        found += [
            _judgement(known, device, [each for each in of_set if each.device == device])
            for device in dict.fromkeys(each.device for each in of_set)
        ]
    return tuple(found)


def _judgement(known: DataSet, device: str, given: Sequence[Accuracy]) -> Judgement:
    rows: list[Row] = []
    splits: list[Split] = []
    for precision in dict.fromkeys(each.precision for each in given):
        of_precision = [each for each in given if each.precision == precision]
        answered = [each for each in of_precision if each.failure is None and each.answers]
        common = _most_common([each.answers for each in answered])
        for each in of_precision:
            others = sum(one != most for one, most in zip(each.answers, common, strict=True)) if common else None
            rows.append(_row(known, each, others if each in answered else None))
        if common:
            apart = [len(set(answers)) > 1 for answers in zip(*(each.answers for each in answered), strict=True)]
            places = tuple(item for item, differs in zip(known.items, apart, strict=True) if differs)
            splits.append(Split(precision, len(answered), places))
    return Judgement(known, device, tuple(rows), tuple(_losses(known, given)), tuple(splits))


def _most_common(answers: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return what most arms answered to each item, of equally many what the first did; empty: there is one arm."""
    if len(answers) < 2:
        return ()
    return tuple(Counter(each).most_common(1)[0][0] for each in zip(*answers, strict=True))


def _row(known: DataSet, given: Accuracy, others: int | None) -> Row:
    failed = given.failure.message if given.failure is not None else ""
    scores = () if failed else tuple(_score(known, given, metric) for metric in known.metrics)
    return Row(given.arm, given.precision, scores, others, given.equal, failed)


def _score(known: DataSet, given: Accuracy, metric: MetricName) -> Score:
    right = given.right.get(metric)
    if right:
        share = proportion(sum(map(bool, right)), len(right))
        return Score(metric, share.share, share.low, share.high)
    measure = _measure(known, given, metric)
    found = value(known, given, metric)
    if measure is None or np.isnan(found):
        return Score(metric, None, None, None)
    return Score(metric, found, *_interval(measure, len(known.items)))


def value(known: DataSet, given: Accuracy, metric: MetricName) -> float:
    """Return a measure of all answers; NaN: it is not defined, or the record has not what it takes."""
    measure = _measure(known, given, metric)
    return measure(np.arange(len(known.items))) if measure is not None else float("nan")


def _measure(known: DataSet, given: Accuracy, metric: MetricName) -> _Measure | None:
    """Return what computes a measure of some items; None: the record has not what it takes."""
    if metric in given.shares:
        shares = np.array(given.shares[metric])
        return lambda places: float(shares[places].mean())
    if metric in given.right:
        right = np.array(given.right[metric], dtype=np.float64)
        return lambda places: float(right[places].mean())
    compute = _CLASSES.get(metric) or _SCORES.get(metric)
    truth = known.labels if metric in _CLASSES else known.scores
    answers = given.answers if metric in _CLASSES else given.scores
    if compute is None or not truth or len(truth) != len(answers):
        return None
    first, second = np.array(truth), np.array(answers)
    return lambda places: compute(first[places], second[places])


def _losses(known: DataSet, given: Sequence[Accuracy]) -> list[Loss]:
    base = {each.arm: each for each in given if each.precision == BASE and each.failure is None}
    found = []
    for each in given:
        before = base.get(each.arm)
        if each.precision != BASE and before is not None and each.failure is None:
            found += [loss for metric in known.metrics if (loss := change(known, before, each, metric)) is not None]
    return found


def change(
    known: DataSet, before: Accuracy, after: Accuracy, metric: MetricName, *, confidence: float = 0.95
) -> Loss | None:
    """Return how far a measure of the same items moved; None: it is not defined for both.

    `confidence`: of the interval of what is no share of right answers.
    """
    changed = None
    if before.answers and after.answers:
        changed = sum(one != other for one, other in zip(before.answers, after.answers, strict=True))
    old, new = before.right.get(metric), after.right.get(metric)
    if old and new:
        pairs = Counter(zip(map(bool, old), map(bool, new), strict=True))
        found = proportions.compare(pairs[True, False], pairs[False, True], len(old))
        return made_of(Loss, found, arm=after.arm, precision=after.precision, metric=metric, changed=changed)
    first, second = _measure(known, before, metric), _measure(known, after, metric)
    if first is None or second is None:
        return None

    def difference(places: _Places) -> float:
        return second(places) - first(places)

    moved = difference(np.arange(len(known.items)))
    if np.isnan(moved):
        return None
    low, high = _interval(difference, len(known.items), confidence)
    return Loss(after.arm, after.precision, metric, moved, low, high, None, None, None, changed)


def _interval(measure: _Measure, items: int, confidence: float = 0.95) -> tuple[float | None, float | None]:
    """Return the interval of a measure by drawing its items again; None where they are too few."""
    try:
        return agreement.interval(measure, items, confidence=confidence)
    except InsufficientData:
        return None, None


_CLASSES: dict[str, Callable[[NDArray[np.generic], NDArray[np.generic]], float]] = {
    "F1": agreement.f1,
    "Matthews correlation": agreement.matthews,
}
_SCORES: dict[str, Callable[[NDArray[np.generic], NDArray[np.generic]], float]] = {
    "Pearson correlation": agreement.pearson,
    "Spearman correlation": agreement.spearman,
}
