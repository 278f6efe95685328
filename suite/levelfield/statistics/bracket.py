"""Whether an upgrade is safe: verdicts on the cases of one upgrade, from the costs of boots (A-B-A, or old and new).

A boot gives one value, its log cost. The old stack has boots before and after those of the new one.

**Slower and faster.** A drift that lasts (a step anywhere, a ramp, any curve that does not turn back) puts the machine
of the new stack's boots between that of before and that of after. Without an effect of its own, the new stack's mean
then lies between the two means of the old one. So it is *slower* only where it is slower than before and slower than
after, each at the level: an intersection–union test, which needs no correction for being two (Berger 1982). Its
interval is the hull of both intervals; it covers the effect of the new stack under any lasting drift, and its middle is
free of a ramp. On a machine that does not drift, both tests have to be wrong in the same direction, which is rare: most
of the level is therefore left to the test for drift.

**Drift.** *Drifted*: after and before differ, and the difference is not shown to be tolerable, that is, inside the
margin or below half of the effect that is shown. A drift that this test did not find may still be there, so *slower*
and *faster* ask for one thing more, at the same level: the drift is shown to be within twice the margin (it moves the
estimate by half of itself at most), or to be smaller than the effect on the nearer side. *Safe* asks for the former.

**Spread.** The variance between boots is taken from the old stack (before and after together) and from the new one
apart, with Welch's degrees of freedom (`statistics.ratios`). One pooled variance has more power where both are
equal. Where the new stack hardly scatters, a pooled standard error of the drift is 0.82 (the root of two thirds) of
what it should be, and an honest machine is called *drifted* too often; where the new stack scatters far more than the
old one, that of its difference is 0.82 of what it should be, with three times the degrees of freedom, and it is called
*slower* too often.

**One bad boot.** With n boots a phase, one boot that is off by D moves its phase by D/n, and raises the estimated
standard error as well. For large D, t tends to 1 for the drift and for a bad boot of the new stack, and to 1.4 for the
new stack against the phase of the bad boot. All are far from any quantile that is used, so one boot makes no verdict,
however bad it is; it can prevent one. A robust mean would need more boots than three a phase.

**Boots in two modes.** The level holds where the boots of a stack scatter around one level. Where each boot comes up in
one of two modes at random, a few boots of each phase can be of one mode by chance. Simulated, at the worst share and
distance of the modes, up to 4 % of upgrades without an effect are called different with three boots a phase and up to 3
% with five, nearly all of them *drifted*; *slower* and *faster* stay below 0.5 % each.

**Many cases.** A single wrong case makes a wrong upgrade, so *slower*, *faster* and *drifted* are each corrected for
their number (Holm), which holds whatever the cases of one boot have in common. *Safe* is not: that the whole upgrade is
safe is said only if every case is, which is an intersection–union test again.

References
----------
R. L. Berger (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24, 295–300.
D. J. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the
equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657–680.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import scipy
from numpy.typing import NDArray

from levelfield.statistics.arrays import Floats, checked_confidence, logs_of
from levelfield.statistics.ratios import standard_error
from levelfield.statistics.student import spread_of
from levelfield.statistics.verdicts import DEFAULT_MARGIN, Verdict, holm_levels

LEAST_BOOTS = 3
"""Fewest boots of a phase. Where boots come up in two modes (huge pages, placement, a clock), two boots of a phase are
often of one mode and look steady: up to 16 % of upgrades of an honest machine are then called different."""
DRIFT_SHARE = 0.75
"""Part of the level that the test for drift has. On an honest machine the tests for *slower*, each at the whole level,
use less than the rest (simulated: `tests.statistics.upgrades`)."""


@dataclass(frozen=True)
class Phases:
    """Boots of cases, log scale: means, variances of one boot, and numbers of boots.

    Each is of shape (3, ..., cases), or broadcasts to it: before, new, after. After has 0 boots where there was no way
    back; the other phases have `LEAST_BOOTS` or more.
    """

    means: Floats
    variances: Floats
    boots: Floats


@dataclass(frozen=True)
class Difference:
    """A difference of means, log scale, with its standard error and degrees of freedom."""

    value: Floats
    error: Floats
    freedom: Floats

    def reach(self, level: Floats | float) -> Floats:
        """Return the half-width of the interval of which either bound misses at `level`."""
        reach: Floats = scipy.special.stdtrit(self.freedom, 1 - np.asarray(level)) * self.error
        return reach

    def tail(self, sign: int, beyond: float = 0.0) -> Floats:
        """Return the p value of *the difference, times `sign`, is `beyond` or less*, against that it is more.

        `sign`: 1 or -1. `beyond`: log scale.
        """
        away = sign * self.value - beyond
        with np.errstate(divide="ignore", invalid="ignore"):
            p_values = scipy.special.stdtr(self.freedom, -away / self.error)
        found: Floats = np.where(self.error > 0, p_values, np.where(away > 0, 0.0, 1.0))
        return found


@dataclass(frozen=True)
class Bracket:
    """The new stack against the old one on both sides, and the old one against itself.

    Where there is no after, both sides are that of before, and there is no drift, without error.
    """

    sides: Difference
    """Shape (2, ..., cases): new minus before, and new minus after."""
    beyond_drift: Difference
    """Shape (2, ..., cases): each side plus, or minus, the drift. Both have the sign of the effect where it is larger
    than the drift on both sides."""
    drift: Difference
    """After minus before."""

    def both_sides_p(self, sign: int) -> Floats:
        """Return the p value of *not changed in this direction, against before or against after*."""
        larger: Floats = self.sides.tail(sign).max(axis=0)
        return larger

    def small_drift_p(self, margin: float) -> Floats:
        """Return the p value of *the drift is twice the margin or more*, in either direction."""
        reach = 2 * math.log1p(margin)
        larger: Floats = np.maximum(self.drift.tail(1, -reach), self.drift.tail(-1, -reach))
        return larger

    def change_p(self, sign: int, margin: float) -> Floats:
        """Return the p value of *not changed in this direction, or beside a drift that could explain much of it*.

        `sign`: 1: slower; -1: faster. `margin`: relative difference that does not matter.
        """
        smaller_drift = self.beyond_drift.tail(sign).max(axis=0)
        tolerable = np.minimum(self.small_drift_p(margin), smaller_drift)
        larger: Floats = np.maximum(self.both_sides_p(sign), tolerable)
        return larger

    @property
    def drift_p(self) -> Floats:
        """P value of *after is what before was*, two-sided."""
        p_values: Floats = np.minimum(2 * np.minimum(self.drift.tail(1), self.drift.tail(-1)), 1.0)
        return p_values

    def bounds(self, level: Floats | float) -> tuple[Floats, Floats]:
        """Return the bounds of the effect, each of which misses at `level`, under any lasting drift."""
        reach = self.sides.reach(level)
        low: Floats = (self.sides.value - reach).min(axis=0)
        high: Floats = (self.sides.value + reach).max(axis=0)
        return low, high


@dataclass(frozen=True)
class Levels:
    """The level at which each case is tested, by what is asked; each of shape (..., cases)."""

    slower: Floats
    faster: Floats
    drift: Floats


@dataclass(frozen=True)
class Judged:
    """Verdicts of cases, each of shape (..., cases)."""

    verdict: NDArray[np.str_]
    level: Floats
    """Of either bound of the interval by which the verdict was reached."""
    drift_open: NDArray[np.bool_]
    """Whether only the drift, which may be too large, prevents a verdict."""


def bracket(phases: Phases) -> Bracket:
    """Compare the phases of each case."""
    means, variances, boots = np.broadcast_arrays(phases.means, phases.variances, phases.boots)
    of_old, of_new, of_after = np.maximum(boots - 1, 0)
    freedom = of_old + of_after
    with_after = boots[2] > 0
    old = (of_old * variances[0] + np.where(with_after, of_after * variances[2], 0.0)) / freedom
    before, new, after = means
    after = np.where(with_after, after, before)
    drift = after - before
    # Variances of the means; what is not there varies with what stands for it.
    of_before = old / boots[0]
    of_after_mean = old / np.where(with_after, boots[2], boots[0])
    error = standard_error(variances[1] / boots[1], of_new, np.stack([of_before, of_after_mean]), freedom)
    further = np.where(with_after, np.stack([4 * of_before + of_after_mean, of_before + 4 * of_after_mean]), of_before)
    beyond = standard_error(variances[1] / boots[1], of_new, further, freedom)
    sides = np.stack([new - before, new - after])
    return Bracket(
        Difference(sides, *error),
        Difference(sides + np.stack([drift, -drift]), *beyond),
        Difference(drift, np.where(with_after, np.sqrt(of_before + of_after_mean), 0.0), freedom),
    )


def levels(found: Bracket, *, margin: float, level: float) -> Levels:
    """Return the levels at which the cases of each upgrade are tested.

    `found`: with the cases of an upgrade along the last axis. `margin`: relative difference that does not matter.
    `level`: of all cases together.
    """
    return Levels(
        slower=holm_levels(found.change_p(1, margin), level),
        faster=holm_levels(found.change_p(-1, margin), level),
        drift=holm_levels(found.drift_p, DRIFT_SHARE * level),
    )


def judged(found: Bracket, at: Levels, *, margin: float, level: float) -> Judged:
    """Judge cases.

    `found`: of the cases. `at`: corrected for the number of cases. `margin`: relative difference that does not matter.
    `level`: of *safe*, which is not corrected.
    """
    none = math.log1p(margin)
    low, high = found.bounds(level)
    equal = (low >= -none) & (high <= none)
    slower, faster = found.change_p(1, margin) <= at.slower, found.change_p(-1, margin) <= at.faster
    shown = np.maximum(
        np.where(slower, found.bounds(at.slower)[0], 0), np.where(faster, -found.bounds(at.faster)[1], 0)
    )
    furthest = np.abs(found.drift.value) + found.drift.reach(at.drift / 2)
    drifted = (found.drift_p <= at.drift) & (furthest > np.maximum(none, shown / 2))
    changed = (found.both_sides_p(1) <= at.slower) | (found.both_sides_p(-1) <= at.faster)
    kinds = [drifted, equal & (found.small_drift_p(margin) <= level), slower, faster]
    widest = np.minimum(at.slower, at.faster)
    verdict = np.select(kinds, [Verdict.DRIFTED, Verdict.SAFE, Verdict.SLOWER, Verdict.FASTER], Verdict.UNDECIDED)
    return Judged(
        verdict=verdict,
        level=np.select(kinds, [widest, np.full_like(widest, level), at.slower, at.faster], widest),
        drift_open=(verdict == Verdict.UNDECIDED) & (equal | changed),
    )


DEFAULT_LEVEL = 0.01
"""Of a hundred upgrades of an honest machine, one may be called *slower* or *drifted* in any case."""
MOST_FURTHER = 200
"""Beyond so many more boots a phase, a decision is out of reach."""
ODD_BOOT = 0.01
"""Probability that a boot of normal noise is named as an outlier."""
FOUND_IN = 0.8
"""Share of upgrades in which a slowdown is found that is called findable."""
SIMULATED = 500
"""Upgrades by which that is computed, in a third of a second."""
_PHASES = ("before", "new", "after")


class Costs(msgspec.Struct, frozen=True):
    """Costs of one case: the typical one of each boot, in nanoseconds or bytes, above zero."""

    before: tuple[float, ...]
    new: tuple[float, ...]
    after: tuple[float, ...] = ()
    """Empty: there was no way back to the old stack."""


class Ratio(msgspec.Struct, frozen=True):
    """A ratio of costs with its interval."""

    value: float
    low: float
    high: float


class Bracketed(msgspec.Struct, frozen=True):
    """Verdict on one case."""

    verdict: Verdict
    ratio: Ratio | None
    """New over old: above 1 costs more. The value is the geometric mean of the ratios to before and to after; the
    interval holds under any drift that lasts. None: a phase has too few boots."""
    drift: Ratio | None
    """After over before, at 1 - 2 `level`. None: there is no after, or a phase has too few boots."""
    confidence: float
    """Of the interval of the ratio: that by which the verdict was reached."""
    further: int | None
    """Where nothing is decided: boots to add to each phase (to the new one, where there is no after) until something
    would be, if estimates and spreads stay what they are. None also where that is out of reach."""
    reason: str
    """Sentences."""


def smallest_slowdown(
    boots: int, spread: float, *, cases: int = 1, way_back: bool = True, margin: float = DEFAULT_MARGIN
) -> float:
    """Return the smallest slowdown of one case that is found in 80 % of upgrades, at the default level.

    `boots`: of each phase. `spread`: standard deviation between boots, log scale, above zero. `cases`: of the upgrade,
    for which the level is divided. `way_back`: whether the old stack has boots after the new one. `margin`: relative
    difference that does not matter.

    Examples
    --------
    >>> round(smallest_slowdown(5, 0.01), 3)
    0.026
    """
    logs = spread * np.random.default_rng(0).standard_normal((3, boots, SIMULATED, 1))
    counts = np.array([boots, boots, boots if way_back else 0], dtype=np.float64)[:, None, None]
    means, variances = logs.mean(axis=1), logs.var(axis=1, ddof=1)

    def is_found(slowdown: float) -> bool:
        shifted = means.copy()
        shifted[1] += math.log1p(slowdown)
        compared = bracket(Phases(shifted, variances, counts))
        at = levels(compared, margin=margin, level=DEFAULT_LEVEL / cases)
        found = judged(compared, at, margin=margin, level=DEFAULT_LEVEL)
        return bool((found.verdict == Verdict.SLOWER).mean() >= FOUND_IN)

    low, high = 0.0, 1.0
    while high - low > 0.001:
        middle = (low + high) / 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return high


def judge(
    cases: Sequence[Costs], *, margin: float = DEFAULT_MARGIN, level: float = DEFAULT_LEVEL
) -> tuple[Bracketed, ...]:
    """Judge all cases of one upgrade together.

    `cases`: those with fewer than `LEAST_BOOTS` boots in a phase are *not decided*, and do not count as tests.
    `margin`: relative difference that does not matter, in either direction. `level`: probability that any case of an
    honest machine is called *slower* or *drifted*. Returns: in the order of the cases. Raises UnusableData: a cost is
    zero, below zero or infinite. Raises ValueError: a margin or a level outside 0 to 1.

    Examples
    --------
    >>> (found,) = judge([Costs((10.0, 10.1, 10.0, 9.9), (10.6, 10.5, 10.6, 10.7), (10.0, 10.0, 9.9, 10.1))])
    >>> found.verdict.value, round(found.ratio.value, 2)
    ('slower', 1.06)
    """
    if not 0 < margin < 1:
        raise ValueError(f"A margin lies between 0 and 1, such as 0.02 for 2 %; {margin} does not.")
    checked_confidence(level)
    logs = [tuple(logs_of(getattr(case, name), f"costs ({name})") for name in _PHASES) for case in cases]
    complete = [number for number, boots in enumerate(logs) if not _missing(boots)]
    found = [_short(_missing(boots), level) for boots in logs]
    if complete:
        for number, judgement in zip(complete, _judge([logs[each] for each in complete], margin, level), strict=True):
            found[number] = judgement
    return tuple(found)


def _missing(boots: Sequence[Floats]) -> int:
    """Return how many boots the shortest phase lacks; no phase after is no lack."""
    sizes = [phase.size for phase in boots]
    return max(LEAST_BOOTS - size for size in (sizes if sizes[2] else sizes[:2]) + [LEAST_BOOTS])


def _short(missing: int, level: float) -> Bracketed:
    reason = f"Each phase needs at least {LEAST_BOOTS} results."
    return Bracketed(Verdict.UNDECIDED, None, None, 1 - 2 * level, missing, reason)


def _judge(logs: Sequence[Sequence[Floats]], margin: float, level: float) -> Iterator[Bracketed]:
    phases = _phases(logs)
    compared = bracket(phases)
    at = levels(compared, margin=margin, level=level)
    found = judged(compared, at, margin=margin, level=level)
    ratios = _ratios(compared.sides.value.mean(axis=0), *compared.bounds(found.level))
    reach = compared.drift.reach(level)
    drifts = _ratios(compared.drift.value, compared.drift.value - reach, compared.drift.value + reach)
    for place, boots in enumerate(logs):
        verdict = Verdict(str(found.verdict[place]))
        drift = drifts[place] if boots[2].size else None
        undecided = verdict is Verdict.UNDECIDED
        sentences = [
            _reason(verdict, drift, drift_open=bool(found.drift_open[place]), margin=margin),
            "" if drift else "Without a way back, a drift of the machine cannot be told from the change.",
            _odd_boot(boots) if undecided else "",
        ]
        yield Bracketed(
            verdict=verdict,
            ratio=ratios[place],
            drift=drift,
            confidence=1 - 2 * float(found.level[place]),
            further=_further(phases, at, place, margin, level) if undecided else None,
            reason=" ".join(filter(None, sentences)),
        )


def _phases(logs: Sequence[Sequence[Floats]]) -> Phases:
    """Return what is judged, of shape (3, cases); a phase that is empty has mean and variance 0."""
    means, variances, boots = (
        np.array([[of(phase) if phase.size else 0.0 for phase in case] for case in logs]).T
        for of in (np.mean, lambda phase: spread_of(phase) ** 2, np.size)
    )
    return Phases(means, variances, boots.astype(np.float64))


def _ratios(values: Floats, lows: Floats, highs: Floats) -> list[Ratio]:
    bounded = np.exp(np.clip([values, lows, highs], -100.0, 100.0))  # few boots give intervals of any width
    return [Ratio(float(value), float(low), float(high)) for value, low, high in bounded.T]


def _further(phases: Phases, at: Levels, place: int, margin: float, level: float) -> int | None:
    """Return how many more boots a phase would decide; every number is tried, since the old side may be fixed."""
    counts = np.arange(1.0, MOST_FURTHER + 1)
    grows = np.array([[1.0], [1.0], [1.0]] if phases.boots[2, place] else [[0.0], [1.0], [0.0]])
    later = Phases(
        phases.means[:, place, None], phases.variances[:, place, None], phases.boots[:, place, None] + grows * counts
    )
    same = Levels(*(np.full_like(counts, each[place]) for each in (at.slower, at.faster, at.drift)))
    decided = judged(bracket(later), same, margin=margin, level=level).verdict != Verdict.UNDECIDED
    return int(counts[decided.argmax()]) if decided.any() else None


def _reason(verdict: Verdict, drift: Ratio | None, *, drift_open: bool, margin: float) -> str:
    match verdict:
        case Verdict.SAFE:
            return f"The whole interval lies inside ±{_percent(margin)}."
        case Verdict.SLOWER:
            return _change("more", bracketed=drift is not None)
        case Verdict.FASTER:
            return _change("less", bracketed=drift is not None)
        case Verdict.DRIFTED if drift:
            return (
                f"After the way back, the old stack is not what it was before ({drift.value - 1:+.1%}), so nothing is "
                "said of the new one."
            ).replace("%", " %")
    if drift and drift_open:
        furthest = max(drift.high, 1 / drift.low) - 1
        return f"The boots before and after leave a drift of up to {_percent(furthest)} open."
    return f"The interval neither excludes no change nor lies inside ±{_percent(margin)}."


def _change(direction: str, *, bracketed: bool) -> str:
    after = f", and {direction} than it did after" if bracketed else ""
    return f"The new stack costs {direction} than the old one did{' before' if bracketed else ''}{after}."


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _odd_boot(boots: Sequence[Floats]) -> str:
    """Name the boot that is far from the others of its phase, if one is (the mean-shift test for one outlier)."""
    phases = [(name, phase) for name, phase in zip(_PHASES, boots, strict=True) if phase.size > LEAST_BOOTS]
    freedom = sum(phase.size - 1 for phase in boots if phase.size) - 1
    squares = sum(float(((phase - phase.mean()) ** 2).sum()) for phase in boots if phase.size)
    count = sum(phase.size for phase in boots)
    if not phases or not squares:
        return ""
    name, place, off, removed = max(
        (
            (name, place, each * phase.size / (phase.size - 1), each**2 * phase.size / (phase.size - 1))
            for name, phase in phases
            for place, each in enumerate(phase - phase.mean())
        ),
        key=lambda found: found[3],
    )
    left = max(squares - removed, 0.0)
    t = math.sqrt(removed * freedom / left) if left else math.inf
    if 2 * count * float(scipy.special.stdtr(freedom, -t)) > ODD_BOOT:
        return ""
    far = _percent(abs(math.expm1(min(off, 100.0))))
    return (
        f"Result {place + 1} of the phase “{name}” lies {far} {'above' if off > 0 else 'below'} the others, and widens "
        "the interval."
    )
