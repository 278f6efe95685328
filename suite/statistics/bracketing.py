"""An old stack before and after a new one (A-B-A): how the new one differs, whatever lasting drift the machine has.

A boot gives one value, its log cost. The old stack has boots before and after those of the new one.

**Slower and faster.** A drift that lasts (a step anywhere, a ramp, any curve that does not turn back) puts the machine
of the new stack's boots between that of before and that of after. Without an effect of its own, the new stack's mean
then lies between the two means of the old one. So it is *slower* only where it is slower than before and slower than
after, each at the level: an intersection–union test, which needs no correction for being two (Berger 1982). Its
interval is the hull of both intervals; it covers the effect of the new stack under any lasting drift, and its middle is
free of a ramp. On a machine that does not drift, both tests have to be wrong in the same direction, which is rare: most
of the level is therefore left to the test for drift.

**Drift.** *Drifted*: after and before differ, and the difference is not shown to be tolerable. A drift of up to the
margin is tolerated, and one of up to half of the effect that is shown. A drift that the test did not find may still be
there. It moves the estimate by half of itself at most, so any other verdict asks for an interval of half the drift that
lies inside what is tolerated.

**Spread.** The variance between boots is taken from the old stack (before and after together) and from the new one
apart, with Welch's degrees of freedom (`suite.statistics.welch`). One pooled variance has more power where both are
equal. Where the new stack hardly scatters, a pooled standard error of the drift is 0.82 (the root of two thirds) of
what it should be, and an honest machine is called *drifted* too often; where the new stack scatters far more than the
old one, that of its difference is 0.82 of what it should be, with three times the degrees of freedom, and it is called
*slower* too often.

**One bad boot.** With n boots a phase, one boot that is off by D moves its phase by D/n, and raises the estimated
standard error as well. For large D, t tends to 1 for the drift and for a bad boot of the new stack, and to 1.4 for the
new stack against the phase of the bad boot. All are far from any quantile that is used, so one boot makes no verdict,
however bad it is; it can prevent one. A robust mean would need more boots than three a phase.

**Many cases.** A single wrong case makes a wrong upgrade, so *slower*, *faster* and *drifted* are each corrected for
their number (Holm), which holds whatever the cases of one boot have in common. *Safe* is not: that the whole upgrade is
safe is said only if every case is, which is an intersection–union test again.

References
----------
R. L. Berger (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24, 295–300.
D. J. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the
equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657–680.
"""

import enum
import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from suite.statistics.arrays import Floats
from suite.statistics.multiple import holm_levels
from suite.statistics.welch import standard_error

LEAST_BOOTS = 2
"""Fewest boots of a phase: one has no spread."""
DRIFT_SHARE = 0.75
"""Part of the level that the test for drift has. On an honest machine the tests for *slower*, each at the whole level,
use less than the rest (simulated: `suite.trials.bracket`)."""


class Verdict(enum.StrEnum):
    """Verdict on one case of an upgrade."""

    SAFE = "safe"
    SLOWER = "slower"
    FASTER = "faster"
    DRIFTED = "drifted"
    UNDECIDED = "not decided"


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

    def tail(self, sign: int) -> Floats:
        """Return the one-sided p value of *the difference does not have this sign*."""
        away = sign * self.value
        with np.errstate(divide="ignore", invalid="ignore"):
            p_values = scipy.special.stdtr(self.freedom, -away / self.error)
        found: Floats = np.where(self.error > 0, p_values, np.where(away > 0, 0.0, 1.0))
        return found


@dataclass(frozen=True)
class Bracket:
    """The new stack against the old one on both sides, and the old one against itself."""

    sides: Difference
    """Shape (2, ..., cases): new minus before, and new minus after (before once more where there is no after)."""
    drift: Difference
    """After minus before; zero, without error, where there is no after."""

    @property
    def slower_p(self) -> Floats:
        """P value of *it is no slower than before, or no slower than after*."""
        larger: Floats = self.sides.tail(1).max(axis=0)
        return larger

    @property
    def faster_p(self) -> Floats:
        """P value of *it is no faster than before, or no faster than after*."""
        larger: Floats = self.sides.tail(-1).max(axis=0)
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
    tolerated: Floats
    """Drift that is tolerated, log scale."""
    bounded: NDArray[np.bool_]
    """Whether half the drift is shown to be inside what is tolerated."""


def bracket(phases: Phases) -> Bracket:
    """Compare the phases of each case."""
    before, new, after = phases.means
    with_after = phases.boots[2] > 0
    of_old, of_new, of_after = (np.maximum(boots - 1, 0) for boots in (*phases.boots[:2], phases.boots[2]))
    freedom = of_old + of_after
    old = (of_old * phases.variances[0] + np.where(with_after, of_after * phases.variances[2], 0.0)) / freedom
    boots = phases.boots[0], np.where(with_after, phases.boots[2], phases.boots[0])
    means = before, np.where(with_after, after, before)
    errors = [standard_error(phases.variances[1] / phases.boots[1], of_new, old / count, freedom) for count in boots]
    sides = [np.broadcast_arrays(new - mean, *error) for mean, error in zip(means, errors, strict=True)]
    spread = np.where(with_after, np.sqrt(old / boots[0] + old / boots[1]), 0.0)
    return Bracket(
        Difference(*(np.stack(parts) for parts in zip(*sides, strict=True))),
        Difference(means[1] - before, spread, np.broadcast_to(freedom, spread.shape)),
    )


def levels(found: Bracket, level: float) -> Levels:
    """Return the levels at which the cases of each upgrade are tested.

    Parameters
    ----------
    found : Bracket
        With the cases of an upgrade along the last axis.
    level : float
        Of all cases together.
    """
    return Levels(
        slower=holm_levels(found.slower_p, level),
        faster=holm_levels(found.faster_p, level),
        drift=holm_levels(found.drift_p, DRIFT_SHARE * level),
    )


def judged(found: Bracket, at: Levels, *, margin: float, level: float) -> Judged:
    """Judge cases.

    Parameters
    ----------
    found : Bracket
        Of the cases.
    at : Levels
        Corrected for the number of cases.
    margin : float
        Relative difference that does not matter.
    level : float
        Of what is not corrected: *safe*, and the bound of the drift.
    """
    none = math.log1p(margin)
    low, high = found.bounds(level)
    equal = (low >= -none) & (high <= none)
    slower, faster = found.slower_p <= at.slower, found.faster_p <= at.faster
    shown = np.maximum(
        np.where(slower, found.bounds(at.slower)[0], 0), np.where(faster, -found.bounds(at.faster)[1], 0)
    )
    tolerated = np.maximum(none, shown / 2)
    drift = np.abs(found.drift.value)
    drifted = (found.drift_p <= at.drift) & (drift + found.drift.reach(at.drift / 2) > tolerated)
    bounded = (drift + found.drift.reach(level)) / 2 <= tolerated
    kinds = [drifted, equal & bounded, slower & bounded, faster & bounded]
    widest = np.minimum(at.slower, at.faster)
    return Judged(
        verdict=np.select(kinds, [Verdict.DRIFTED, Verdict.SAFE, Verdict.SLOWER, Verdict.FASTER], Verdict.UNDECIDED),
        level=np.select(kinds, [widest, np.full_like(widest, level), at.slower, at.faster], widest),
        tolerated=tolerated,
        bounded=bounded,
    )
