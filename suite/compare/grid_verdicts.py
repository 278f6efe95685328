"""Verdicts on many cases at once: differences and equivalences, both corrected for how many were looked at.

Two families of tests are made over the same rows, each at the false discovery rate q: *it changed* (two-sided) and *it
did not change by more than the margin* (two one-sided tests). Each interval is shown at the confidence at which its
verdict was reached, so that what is printed and what is said always agree:

* a change, at 1 − q·R/m, where R of m rows changed: of the intervals shown for changes, at most the share q miss
  (Benjamini & Yekutieli 2005), and each excludes 1;
* an equivalence, at 1 − 2·q·E/m, where E of m are equivalent: each lies inside the margin;
* anything else, at the wider of the two (with one for R or E where there is none): it includes 1 and leaves the margin.

References
----------
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate. JRSS B 57, 289–300.
Y. Benjamini, D. Yekutieli (2005). False discovery rate-adjusted multiple confidence intervals for selected parameters.
JASA 100, 71–81.
D. J. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach. Journal of
Pharmacokinetics and Biopharmaceutics 15, 657–680.
"""

import math
from collections.abc import Sequence

import msgspec

from suite import scenarios
from suite.analysis.types import Estimate
from suite.compare.types import Gate, Metric, Outcome, Verdict
from suite.compare.welch import Effect
from suite.statistics import verdicts
from suite.statistics.multiple import benjamini_hochberg


class CellVerdict(msgspec.Struct, frozen=True):
    """Verdict on one effect among others."""

    ratio: Estimate
    confidence: float
    p_value: float
    p_adjusted: float
    verdict: verdicts.Verdict
    outcome: Outcome
    further: int | None
    """Where the outcome is undecided: replicates a side to add; None also where that is out of reach."""


def judge_grid(effects: Sequence[Effect], gate: Gate) -> tuple[CellVerdict, ...]:
    """Judge effects together.

    Parameters
    ----------
    effects
        All that one comparison looks at: the correction is for their number.
    gate
        Margin, false discovery rate, and the slowdown that is allowed.

    Returns
    -------
    tuple of Judgement
        In the order of the effects.
    """
    if not effects:
        return ()
    changed = benjamini_hochberg([effect.p_value for effect in effects], q=gate.q)
    equivalent = benjamini_hochberg([effect.p_equivalent(gate.margin) for effect in effects], q=gate.q)
    of_change = 1 - gate.q * max(sum(changed.found), 1) / len(effects)
    of_equivalence = 1 - min(2 * gate.q * max(sum(equivalent.found), 1) / len(effects), 0.5)
    found: list[CellVerdict] = []
    for effect, differs, equal, adjusted in zip(
        effects, changed.found, equivalent.found, changed.adjusted, strict=True
    ):
        confidence = of_equivalence if equal else of_change if differs else max(of_change, of_equivalence)
        found.append(_judge(effect, gate, confidence, 1.0 if adjusted is None else adjusted))
    return tuple(found)


def _judge(effect: Effect, gate: Gate, confidence: float, adjusted: float) -> CellVerdict:
    half = effect.half_width(confidence)
    low, high = _bounded(effect.log_ratio - half), _bounded(effect.log_ratio + half)
    verdict = verdicts.verdict_of(low, high, margin=gate.margin)
    outcome = _outcome(verdict, low, high, gate)
    return CellVerdict(
        ratio=Estimate(math.exp(effect.log_ratio), low, high),
        confidence=confidence,
        p_value=effect.p_value,
        p_adjusted=adjusted,
        verdict=verdict,
        outcome=outcome,
        further=effect.further(_target(effect.log_ratio, gate), confidence) if outcome == "undecided" else None,
    )


def _bounded(log: float) -> float:
    """Return e^log, kept within what a float and a reader can hold: few runs give intervals of any width."""
    return math.exp(min(max(log, -100.0), 100.0))


def _outcome(verdict: verdicts.Verdict, low: float, high: float, gate: Gate) -> Outcome:
    """Return what a verdict means; with `--max-slowdown`, the interval is compared with that instead."""
    if gate.max_slowdown is not None:
        limit = 1 + gate.max_slowdown
        return "worse" if low > limit else "fine" if high <= limit else "undecided"
    if verdict is verdicts.Verdict.SLOWER:
        return "worse"
    return "undecided" if verdict is verdicts.Verdict.INCONCLUSIVE else "fine"


def _target(log_ratio: float, gate: Gate) -> float:
    """Return the half-width at which it would be decided, if the estimate stays what it is."""
    if gate.max_slowdown is not None:
        return abs(log_ratio - math.log1p(gate.max_slowdown))
    return max(abs(log_ratio), math.log1p(gate.margin) - abs(log_ratio))


def of_metric(verdict: verdicts.Verdict, metric: Metric) -> Verdict:
    """Return the verdict in the words of a metric: memory is not slower, it is more.

    Parameters
    ----------
    verdict
        Of the ratio new over old, where above 1 is worse.
    metric
        What the ratio is of.
    """
    match verdict:
        case verdicts.Verdict.SAME:
            return Verdict.SAME
        case verdicts.Verdict.INCONCLUSIVE:
            return Verdict.INCONCLUSIVE
        case verdicts.Verdict.SLOWER:
            return Verdict.HUNGRIER if scenarios.get(metric).unit == "bytes" else Verdict.SLOWER
        case verdicts.Verdict.FASTER:
            return Verdict.LEANER if scenarios.get(metric).unit == "bytes" else Verdict.FASTER
