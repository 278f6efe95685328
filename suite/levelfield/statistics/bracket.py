"""Whether an upgrade is safe: verdicts on the cases of one upgrade, from the costs of boots (A-B-A, or old and new).

The design, and why it errs as rarely as it says, is in `statistics.bracketing`.
"""

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import scipy

from levelfield.statistics.arrays import Floats, checked_confidence, logs_of
from levelfield.statistics.bracketing import LEAST_BOOTS, Levels, Phases, bracket, judged, levels
from levelfield.statistics.student import spread_of
from levelfield.statistics.verdicts import DEFAULT_MARGIN, Verdict

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

    Parameters
    ----------
    boots : int
        Of each phase.
    spread : float
        Standard deviation between boots, log scale, above zero.
    cases : int
        Of the upgrade, for which the level is divided.
    way_back : bool
        Whether the old stack has boots after the new one.
    margin : float
        Relative difference that does not matter.

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

    Parameters
    ----------
    cases : sequence of Costs
        Those with fewer than `LEAST_BOOTS` boots in a phase are *not decided*, and do not count as tests.
    margin : float
        Relative difference that does not matter, in either direction.
    level : float
        Probability that any case of an honest machine is called *slower* or *drifted*.

    Returns
    -------
    tuple of Bracketed
        In the order of the cases.

    Raises
    ------
    UnusableData
        A cost is zero, below zero or infinite.
    ValueError
        A margin or a level outside 0 to 1.

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
    reason = f"Each phase needs at least {LEAST_BOOTS} boots with a result."
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
        phases.means[:, place, None],
        phases.variances[:, place, None],
        phases.boots[:, place, None] + grows * counts,
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
        f"Boot {place + 1} of the phase “{name}” lies {far} {'above' if off > 0 else 'below'} the others, and widens "
        "the interval."
    )
