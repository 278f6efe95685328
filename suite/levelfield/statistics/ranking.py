"""Ranking the arms of a block: which are faster than which, and simultaneous intervals against the best.

Two questions, each answered with its own guarantee, whatever the correlation of the arms and however unequal their
spreads (which differ by a factor of three between backends; a pooled variance would not do):

**Which arm is faster than which?** A rank is one more than the number of arms that are faster, so all K (K - 1) / 2
pairs are compared, and with the given confidence none is called different that is not. The p values of paired t tests
meet the bounds of Shaffer's step-down procedure: Bonferroni's for all pairs at first; once *r* pairs are rejected, only
as many can still be true as there are equal pairs in some partition of the arms that leaves at least *r* unequal (for
seven arms 21, then 15, 11, 9, …). Two rules are added, and neither can make a false claim more likely:

* No bound is below that of K - 1 comparisons, which the intervals against the best have. So an arm that is ranked
  behind the only best one has an interval that excludes 1.
* If *a* is faster than *b*, and *b* than *c*, then *a* is faster than *c*. So none of the arms with rank 1 is faster
  than another one of them.

A noisy arm can be behind fewer arms than a steadier one with a better estimate. Behind the first rank, both then have
the smaller one, so that no arm has a worse rank than one with a worse estimate.

A pair whose interval lies inside the margin is *equal*: neither arm is called faster, even where the interval excludes
1. Step-down tests bound false claims of a difference; that claims of its direction are bounded as well is proven for
independent tests only (Finner 1999) and simulated here for paired ones.

**How far is it behind the best?** The best arm is not known beforehand; picking the fastest and comparing the others
with it as if it had been chosen before the run overstates its lead. *Multiple comparisons with the best* (Hsu 1984)
repairs that:

* With the true best arm *k* as control, all K - 1 paired intervals of log t_j - log t_k hold together with the given
  confidence (Bonferroni).
* Where they hold, no arm is significantly faster than *k*, so *k* is a **candidate**: an arm than which none is.
* So the ratio of any arm to the best lies within the union of its intervals against the candidates.

**How much do launches vary?** Five launches say little of it: Student's quantile for six comparisons is 4.9 then, and
3.5 with eight degrees of freedom. So the variance of a pair leans on those of the other pairs, as if there were so many
launches more as there are other arms, four at most: a moderated t test (Smyth 2004), with a weight that is fixed
beforehand. What the pair leans on is the mean log variance of the pairs that its arms are in, without the bias that
the logarithm of a sampled variance has. So a noisy arm's pairs lean on a larger variance than those of steady arms. In
simulation, with spreads that differ up to sixfold, the intervals hold together as often as plain ones do. Where
verdicts or the precision end a run, for two arms, and where a pair does not vary at all, nothing is leaned on.

An interval that begins at 1 excludes nothing: the arm may be as fast as the best. An arm of rank 2 can have such an
interval where several arms share rank 1 and it is not known which of them is the best.

References
----------
J. P. Shaffer (1986). Modified sequentially rejective multiple test procedures. JASA 81, 826–831.
H. Finner (1999). Stepwise multiple test procedures and control of directional errors. Annals of Statistics 27, 274–289.
J. C. Hsu (1984). Constrained simultaneous confidence intervals for multiple comparisons with the best. Annals of
Statistics 12, 1136–1144.
G. K. Smyth (2004). Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments. Statistical Applications in Genetics and Molecular Biology 3, article 3.
M. Mohamad, J. Goeman, E. van Zwet (2019). Simultaneous confidence intervals for ranks with application to ranking
institutions. arXiv:1812.05507 (ranks as counts of significant differences).
"""

import functools
import itertools
import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from levelfield.statistics.arrays import Floats, checked_confidence, finite_or_missing, without_missing
from levelfield.statistics.student import EndedBy, LaunchMean, fewest_launches, mean_of
from levelfield.statistics.verdicts import DEFAULT_MARGIN, Verdict, verdict_of

MOST_PRIOR_FREEDOM = 4
"""Degrees of freedom that the variance of a pair has from other pairs at the most: as many as five launches have."""


class ArmRank(msgspec.Struct, frozen=True):
    """The rank of one arm in its block."""

    arm: int
    """Column in the matrix that was ranked."""
    rank: int | None = None
    """At least rank - 1 arms are faster; with rank 1 none is. None: unranked."""
    behind: tuple[int, ...] = ()
    """Columns of the arms that are faster: at least rank - 1."""
    ratio: float | None = None
    """Its time over that of the leading arm: of those with rank 1, the one with the least estimate."""
    low: float | None = None
    high: float | None = None
    """Simultaneous interval of its time over that of the true best, whichever that is; never below 1."""
    half_width: float | None = None
    """Half-width of that interval before it is cut off at 1, log scale: how well the ratio is known. Half of what is
    left after the cut would say that an arm which may be the best is known better than it is."""
    verdict: Verdict | None = None
    """Of that interval: `same` (inside the margin), `slower` (it excludes 1), or `not decided`."""
    reason: str | None = None
    """Why it is not ranked."""


def rank(
    log_levels: ArrayLike, *, confidence: float = 0.95, margin: float = DEFAULT_MARGIN, ended: EndedBy = EndedBy.PLAN
) -> list[ArmRank]:
    """Rank the arms of a block, best rank first; arms that cannot be ranked come last, with the reason.

    `log_levels`, shape (generations, arms), log of time: one value a launch, NaN where it failed. Each pair is compared
    over the generations in which both have one. `confidence`: with which all ranks of a block are right (no arm is
    called faster that is not), and with which all intervals hold together. `margin`: relative difference that does not
    matter. `ended`: what was allowed to decide how many launches there are (see `statistics.student`). Returns: one for
    each column. An arm is ranked if it shares enough complete generations (`student.fewest_launches`) with every other
    ranked arm; a single such arm has rank 1 and no interval. Arms of equal rank are in the order of their estimates.
    Raises UnusableData: infinite values or an array that is not two-dimensional.
    """
    checked_confidence(confidence)
    levels = finite_or_missing(log_levels, dimensions=2, what="launch levels")
    present = ~np.isnan(levels)
    fewest = fewest_launches(ended)
    ranked = _comparable(present, fewest)
    unranked = [ArmRank(arm, reason=_why(present, arm, fewest)) for arm in range(levels.shape[1]) if arm not in ranked]
    if len(ranked) < 2:
        return [*(ArmRank(arm, rank=1, ratio=1.0) for arm in ranked), *unranked]
    comparisons = _compare(levels[:, ranked], confidence=confidence, margin=margin, ended=ended)
    ranks = _ranks(comparisons)
    found = []
    for i, arm in enumerate(ranked):
        low, high = math.exp(comparisons.low[i]), math.exp(comparisons.high[i])
        found.append(
            ArmRank(
                arm=arm,
                rank=int(ranks[i]),
                behind=tuple(ranked[j] for j in np.flatnonzero(comparisons.faster[i])),
                ratio=math.exp(comparisons.estimate[i]),
                low=low,
                high=high,
                half_width=float(comparisons.half_width[i]),
                verdict=verdict_of(low, high, margin=margin),
            )
        )
    found.sort(key=lambda each: (each.rank, each.ratio))
    return found + unranked


class _Comparisons(msgspec.Struct, frozen=True):
    faster: NDArray[np.bool_]
    """Shape (slow, fast)."""
    estimate: Floats
    low: Floats
    """Never below 0."""
    high: Floats
    half_width: Floats
    """Of the intervals before `low` is cut off at 0."""


def _ranks(comparisons: _Comparisons) -> NDArray[np.int64]:
    """Count the faster arms, and from rank 2 on give no arm a worse rank than one with a worse estimate."""
    ranks: NDArray[np.int64] = 1 + comparisons.faster.sum(axis=1)
    least = ranks.size
    for arm in np.argsort(-comparisons.estimate, kind="stable"):
        if ranks[arm] > 1:
            least = ranks[arm] = min(least, int(ranks[arm]))
    return ranks


class _Pair(msgspec.Struct, frozen=True):
    """The difference of two arms, log scale."""

    slow: int
    fast: int
    mean: LaunchMean
    """Of log time, the slow one's less the fast one's; never negative."""


def _compare(levels: Floats, *, confidence: float, margin: float, ended: EndedBy) -> _Comparisons:
    """Ranks and intervals of arms that can all be compared with one another; log scale."""
    arms = levels.shape[1]
    pairs = _moderated([_pair(levels, *pair, ended) for pair in itertools.combinations(range(arms), 2)], arms, ended)
    mean = np.zeros((arms, arms))
    half = np.zeros((arms, arms))
    for pair in pairs:
        mean[pair.slow, pair.fast], mean[pair.fast, pair.slow] = pair.mean.value, -pair.mean.value
        half[pair.slow, pair.fast] = half[pair.fast, pair.slow] = pair.mean.half_width(confidence, comparisons=arms - 1)
    significant, faster = _separated(pairs, arms, confidence=confidence, margin=margin)
    unbeaten = ~significant.any(axis=1)
    candidates = unbeaten | ~(mean - half > 0).any(axis=1)
    # With complete data the row mean of the differences is the arm's mean less that of the unbeaten.
    leader = int(np.argmin(np.where(unbeaten, mean[:, unbeaten].mean(axis=1), np.inf)))
    low, high = (mean - half)[:, candidates].min(axis=1), (mean + half)[:, candidates].max(axis=1)
    return _Comparisons(
        faster=faster,
        estimate=mean[:, leader],
        low=np.maximum(low, 0),
        high=np.maximum(high, 0),
        half_width=(high - low) / 2,
    )


def _pair(levels: Floats, first: int, second: int, ended: EndedBy) -> _Pair:
    mean = mean_of(without_missing(levels[:, first] - levels[:, second]), ended)
    if mean.value >= 0:
        return _Pair(first, second, mean)
    return _Pair(second, first, msgspec.structs.replace(mean, value=-mean.value))


def _moderated(pairs: Sequence[_Pair], arms: int, ended: EndedBy) -> Sequence[_Pair]:
    """Let the variance of every pair lean on those of the pairs that share an arm with it."""
    prior_freedom = min(arms - 2, MOST_PRIOR_FREEDOM)
    if ended is not EndedBy.PLAN or prior_freedom < 1 or not all(pair.mean.spread for pair in pairs):
        return pairs
    log_variances = np.zeros((arms, arms))
    for pair in pairs:
        half = pair.mean.freedom / 2
        unbiased = 2 * math.log(pair.mean.spread) - float(scipy.special.digamma(half)) + math.log(half)
        log_variances[pair.slow, pair.fast] = log_variances[pair.fast, pair.slow] = unbiased
    of_arm = log_variances.sum(axis=1) / (arms - 1)

    def moderated(pair: _Pair) -> _Pair:
        own, prior = pair.mean.freedom, math.exp((of_arm[pair.slow] + of_arm[pair.fast]) / 2)
        variance = (own * pair.mean.spread**2 + prior_freedom * prior) / (own + prior_freedom)
        mean = msgspec.structs.replace(pair.mean, spread=math.sqrt(variance), prior_freedom=prior_freedom)
        return msgspec.structs.replace(pair, mean=mean)

    return [moderated(pair) for pair in pairs]


def _separated(
    pairs: Iterable[_Pair], arms: int, *, confidence: float, margin: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return who is behind whom, shape (slow, fast): significantly, and not shown to be within the margin."""
    significant = np.zeros((arms, arms), dtype=np.bool_)
    faster = significant.copy()
    for rejected, (p, pair) in enumerate(
        sorted(((pair.mean.p_value, pair) for pair in pairs), key=lambda each: each[0])
    ):
        comparisons = max(most_equal_pairs(arms, rejected), arms - 1)
        if p > (1 - confidence) / comparisons:
            break
        half = pair.mean.half_width(confidence, comparisons=comparisons)
        significant[pair.slow, pair.fast] = True
        faster[pair.slow, pair.fast] = pair.mean.value + half > math.log1p(margin)
    return _completed(significant), _completed(faster)


def _completed(behind: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the least strict order that holds a relation; arms on a cycle (missing generations) are not ordered."""
    found = behind.copy()
    for middle in range(found.shape[0]):
        found |= found[:, [middle]] & found[[middle], :]
    return found & ~found.T


@functools.lru_cache
def _equal_pairs(arms: int) -> int:
    """Return how many pairs can be equal among so many arms, as bits: each partition into equal arms sets one."""
    possible = [1]
    for number in range(1, arms + 1):
        bits = 0
        for together in range(1, number + 1):
            bits |= possible[number - together] << math.comb(together, 2)
        possible.append(bits)
    return possible[arms]


def most_equal_pairs(arms: int, unequal: int) -> int:
    """Return how many pairs can be equal at the most where at least so many are not (Shaffer 1986, section 3).

    `arms`, `unequal`: number of arms, and least number of pairs that are not equal.

    Examples
    --------
    >>> [most_equal_pairs(7, unequal) for unequal in (0, 1, 6, 7, 20, 21)]
    [21, 15, 15, 11, 1, 0]
    """
    limit = math.comb(arms, 2) - unequal
    return (_equal_pairs(arms) & ((2 << limit) - 1)).bit_length() - 1


def _comparable(present: NDArray[np.bool_], fewest: int) -> list[int]:
    """Columns that share enough complete generations with one another; the emptiest is left out first."""
    counts = present.sum(axis=0)
    common = present.T.astype(np.int64) @ present.astype(np.int64)
    kept = [arm for arm in range(present.shape[1]) if counts[arm] >= fewest]
    while kept:
        conflicts = {arm: int((common[arm, kept] < fewest).sum()) for arm in kept}
        worst = max(kept, key=lambda arm: (conflicts[arm], -int(counts[arm]), arm))
        if conflicts[worst] == 0:
            break
        kept.remove(worst)
    return kept


def _why(present: NDArray[np.bool_], arm: int, fewest: int) -> str:
    launches = int(present[:, arm].sum())
    if launches < fewest:
        return f"{launches} launches gave a result; ranking needs at least {fewest}."
    return f"It shares fewer than {fewest} complete generations with another arm; measure more generations."
