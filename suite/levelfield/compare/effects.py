"""From replicates to an effect: the log ratio of two sides, its standard error and its degrees of freedom.

Two designs give the same kind of effect. Runs of one side are independent of those of the other: their logs are
compared as two samples of unequal variance (`statistics.ratios`). Arms of one run are paired by generation, and
runs that were made in turns by their turn: one sample of differences.
"""

import math

import msgspec
import scipy
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import Floats, InsufficientData, logs_of
from levelfield.statistics.ratios import standard_error
from levelfield.statistics.student import EndedBy, LaunchMean, freedom, look_cost, mean_of, spread_of, widening

MIN_RUNS = 3
"""Fewest runs a side that are judged. With two, the spread of a side rests on a single difference: at 99 % the quantile
of t is 9.9 at best and 64 at worst, so that only changes of tens of percents would be significant."""


class Effect(msgspec.Struct, frozen=True):
    """New over old, log scale."""

    log_ratio: float
    standard_error: float
    freedom: float
    """Degrees of freedom of the standard error."""
    old_sd: float
    """Standard deviation of one replicate. A paired design has the whole spread here (`LaunchMean.spread`), and 0 for
    the new side."""
    new_sd: float
    old_replicates: int
    new_replicates: int
    pooled: bool = False
    """Whether both sides are taken to have one spread (`pooled`)."""
    ended: EndedBy = EndedBy.PLAN
    """What was allowed to decide how many pairs there are; interim looks widen the interval."""
    paired: bool = False
    """Whether the replicates are pairs of launches (`from_pairs`)."""

    def with_replicates(self, old: int, new: int) -> "Effect":
        """Return the effect with other numbers of replicates, if the estimate and the spreads stay what they are."""
        spreads = self.old_sd, self.new_sd
        plain, _ = _error(spreads, (self.old_replicates, self.new_replicates), pooled=self.pooled)
        error, of_error = _error(spreads, (old, new), pooled=self.pooled)
        if self.paired:
            of_error = float(freedom(old, self.ended))
        widened = self.standard_error / plain if plain > 0 else 1.0
        return msgspec.structs.replace(
            self, standard_error=error * widened, freedom=of_error, old_replicates=old, new_replicates=new
        )

    def half_width(self, confidence: float) -> float:
        """Return the half-width of the t interval, log scale."""
        tail = (1 - confidence) / (2 * look_cost(self.old_replicates, self.ended))
        return -float(scipy.special.stdtrit(self.freedom, tail)) * self.standard_error

    def tail(self, bound: float) -> float:
        """Return the p value of *the log ratio is at least `bound`*, against that it is below."""
        distance = self.log_ratio - bound
        if self.standard_error == 0:
            return 0.0 if distance < 0 else 1.0
        p_value = float(scipy.special.stdtr(self.freedom, distance / self.standard_error))
        return min(1.0, p_value * look_cost(self.old_replicates, self.ended))

    @property
    def p_value(self) -> float:
        """Two-sided, of *the ratio is 1*."""
        if self.standard_error == 0:
            return 1.0 if self.log_ratio == 0 else 0.0
        p_value = float(2 * scipy.special.stdtr(self.freedom, -abs(self.log_ratio) / self.standard_error))
        return min(1.0, p_value * look_cost(self.old_replicates, self.ended))

    def p_equivalent(self, margin: float) -> float:
        """Return the p value of *the ratio is outside the margin*: two one-sided tests (Schuirmann 1987)."""
        reach = math.log1p(margin)
        mirrored = msgspec.structs.replace(self, log_ratio=-self.log_ratio)
        return max(self.tail(reach), mirrored.tail(reach))


def from_runs(old: ArrayLike, new: ArrayLike) -> Effect:
    """Compare runs with runs.

    Raises InsufficientData: fewer than `MIN_RUNS` on either side. Raises UnusableData: a cost of zero, below zero, or
    infinite.

    Examples
    --------
    >>> effect = from_runs([10.0, 10.1, 10.2], [10.5, 10.6, 10.4])
    >>> round(math.exp(effect.log_ratio), 3), effect.freedom > 3
    (1.04, True)
    """
    first, second = logs_of(old, "old runs"), logs_of(new, "new runs")
    if min(first.size, second.size) < MIN_RUNS:
        raise InsufficientData(
            f"{first.size} and {second.size} runs: a judgement needs at least {MIN_RUNS} a side. Measure more runs."
        )
    return _between(first, second, (spread_of(first), spread_of(second)), pooled=False)


def from_paired_runs(old: ArrayLike, new: ArrayLike) -> Effect:
    """Compare runs that were made in turns, pair by pair.

    Raises InsufficientData: fewer than `MIN_RUNS` pairs. Raises UnusableData: a cost of zero, below zero, or infinite.

    Examples
    --------
    >>> effect = from_paired_runs([10.0, 12.0, 14.0], [10.5, 12.7, 14.6])
    >>> round(math.exp(effect.log_ratio), 3), effect.freedom
    (1.05, 2.0)
    """
    first, second = logs_of(old, "old runs"), logs_of(new, "new runs")
    if first.size < MIN_RUNS:
        raise InsufficientData(
            f"{first.size} pairs of runs: a judgement needs at least {MIN_RUNS}. Measure more runs in turns."
        )
    return from_pairs(mean_of(second - first))


def pooled(old: ArrayLike, new: ArrayLike) -> Effect:
    """Compare two sides that are taken to have one spread (Student's t): a side may then have a single replicate.

    `old`, `new`: one estimate a replicate, above zero; at least one a side. Raises InsufficientData: a side has none,
    or the spread would rest on fewer than two degrees of freedom. Raises UnusableData: a cost of zero, below zero, or
    infinite.

    Examples
    --------
    >>> effect = pooled([10.0], [10.5, 10.6, 10.4])
    >>> round(math.exp(effect.log_ratio), 3), effect.freedom
    (1.05, 2.0)
    """
    first, second = logs_of(old, "old replicates"), logs_of(new, "new replicates")
    freedom = first.size + second.size - 2
    if min(first.size, second.size) < 1 or freedom < MIN_RUNS - 1:
        raise InsufficientData(
            f"{first.size} and {second.size} replicates: too few to estimate their spread. Measure more."
        )
    squares = sum((side.size - 1) * spread_of(side) ** 2 for side in (first, second) if side.size > 1)
    spread = math.sqrt(squares / freedom)
    return _between(first, second, (spread, spread), pooled=True)


def _between(old: Floats, new: Floats, spreads: tuple[float, float], *, pooled: bool) -> Effect:
    error, freedom = _error(spreads, (old.size, new.size), pooled=pooled)
    return Effect(
        log_ratio=float(new.mean() - old.mean()),
        standard_error=error,
        freedom=freedom,
        old_sd=spreads[0],
        new_sd=spreads[1],
        old_replicates=int(old.size),
        new_replicates=int(new.size),
        pooled=pooled,
    )


def _error(spreads: tuple[float, float], sizes: tuple[int, int], *, pooled: bool) -> tuple[float, float]:
    """Return the standard error of a difference of means, and its degrees of freedom."""
    parts = spreads[0] ** 2 / sizes[0], spreads[1] ** 2 / sizes[1]
    if pooled:
        return math.sqrt(sum(parts)), float(sum(sizes) - 2)
    error, freedom = standard_error(parts[0], sizes[0] - 1, parts[1], sizes[1] - 1)
    return float(error), float(freedom)


def from_pairs(mean: LaunchMean) -> Effect:
    """Return the effect of the mean log ratio (new over old) of arms that were paired by generation."""
    return Effect(
        log_ratio=mean.value,
        standard_error=mean.standard_error * widening(mean.launches, mean.ended),
        freedom=float(freedom(mean.launches, mean.ended)),
        old_sd=mean.spread,
        new_sd=0.0,
        old_replicates=mean.launches,
        new_replicates=mean.launches,
        ended=mean.ended,
        paired=True,
    )
