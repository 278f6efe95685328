"""Verdicts of `compare`, `ab` and `reproduce`: one function of effects and a frozen policy.

Each effect is a ratio of costs with its standard error (`compare.effects`). Its interval gives the verdict:
*same* where all of it lies inside the margin (two one-sided tests, Schuirmann 1987), a change where it excludes what
the policy counts as no change, else *not decided*.

`compare` and `ab` judge many cases at once (`change_policy`). Two families of tests are made over the same effects,
each at the false discovery rate q: *it changed* (two-sided) and *it did not change by more than the margin*. Each
interval is shown at the confidence at which its verdict was reached, so that the two always agree:

* a change, at 1 − q·R/m, where R of m effects changed: of the intervals shown for changes, at most the share q miss
  (Benjamini & Yekutieli 2005), and each excludes 1;
* an equivalence, at 1 − 2·q·E/m, where E of m are equivalent: each lies inside the margin;
* anything else, at the wider of the two (with one for R or E where there is none): it includes 1 and leaves the margin;
* so is a change whose interval would lie inside the margin, though it was not found equivalent: where many cases
  changed by just the margin, *same* would else be said of more of them than q allows.

`reproduce` judges each result by its own 95 % interval (`reproduction_policy`): all of it inside the allowance, all of
it outside, or not decided. One run a side cannot say whether a stack became slower: between quiet runs of the same
thing, minutes apart on one machine, results moved by more than launches within a run show. It can show whether this
machine reproduces the figures of a report. Where the true ratio lies on a bound of the allowance or beyond, *same* is
said in at most 2.5 % of cases, and where it lies inside, a difference in at most 2.5 %. "True" is of these two runs: a
machine that is slower today than on the report's day shifts the ratio, which no interval over launches covers.

How often an equal result is shown to be reproduced depends on how launches scatter. Simulated with an allowance of
10 % and five launches a side: in 97 % of cases where their standard deviation is 3 %, in 48 % at 5 %, in 5 % at 8 %;
with ten a side in 99, 96 and 42 %. The tests repeat these simulations.

References
----------
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate. JRSS B 57, 289–300.
Y. Benjamini, D. Yekutieli (2005). False discovery rate-adjusted multiple confidence intervals for selected parameters.
JASA 100, 71–81.
D. J. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach. Journal of
Pharmacokinetics and Biopharmaceutics 15, 657–680.
"""

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from levelfield import scenarios
from levelfield.analysis.types import Estimate
from levelfield.compare.effects import Effect
from levelfield.compare.types import Gate, Metric, Outcome
from levelfield.statistics.verdicts import Verdict, benjamini_hochberg, verdict_of

MOST_REPLICATES = 10_000
"""Beyond this many a side, the answer to "how many more?" is "out of reach"."""
MOST_LAUNCHES = 100
"""The same for the launches that decide whether a report is reproduced."""


class Policy(msgspec.Struct, frozen=True):
    """Rules by which a command judges an effect."""

    margin: float
    """Relative difference that counts as none, in either direction: a ratio of 1 / (1 + margin) to 1 + margin."""
    level: float
    """Share of wrong verdicts that is allowed, as `correction` counts them."""
    correction: Literal["false discovery rate", "none"] = "false discovery rate"
    """Whether `level` holds over all changes that are reported together, or for the interval of each effect."""
    change: Literal["excludes 1", "excludes the margin"] = "excludes 1"
    """What an interval has to do to show a change."""
    worse: Literal["slower", "any change"] = "slower"
    """Which change is worse: one of the cost upwards, or one in either direction."""
    max_slowdown: float | None = None
    """Where given, the outcome is worse only if the slowdown is shown to exceed this, and fine only if it is shown not
    to."""
    adds_to: Literal["both sides", "new side"] = "both sides"
    """Where further replicates can be measured."""
    most_replicates: int = MOST_REPLICATES
    """Replicates a side beyond which a decision is out of reach."""
    words: Mapping[Verdict, Verdict] = {}
    """Verdicts that have a word of their own for this question."""


def change_policy(gate: Gate) -> Policy:
    """Return the policy of `compare` and `ab`, which ask whether a cost changed, and whether for the worse."""
    return Policy(margin=gate.margin, level=gate.q, max_slowdown=gate.max_slowdown)


def reproduction_policy(allowed: float) -> Policy:
    """Return the policy of `reproduce`, which asks whether a cost is within this relative difference of a report's."""
    return Policy(
        margin=allowed,
        level=0.05,
        correction="none",
        change="excludes the margin",
        worse="any change",
        adds_to="new side",
        most_replicates=MOST_LAUNCHES,
        words={Verdict.SAME: Verdict.REPRODUCED, Verdict.FASTER: Verdict.DIFFERS, Verdict.SLOWER: Verdict.DIFFERS},
    )


class Judgement(msgspec.Struct, frozen=True):
    """Verdict on one effect among others."""

    ratio: Estimate
    confidence: float
    """Of the interval of the ratio."""
    p_value: float
    p_adjusted: float
    """Benjamini–Hochberg adjusted where the policy corrects for the number of effects."""
    verdict: Verdict
    outcome: Outcome
    further: int | None
    """Where the outcome is undecided: replicates a side to add; None also where that is out of reach."""


def judge(effects: Sequence[Effect], policy: Policy) -> tuple[Judgement, ...]:
    """Judge effects together."""
    return tuple(
        _judgement(effect, policy, confidence, adjusted)
        for effect, (confidence, adjusted) in zip(effects, _levels(effects, policy), strict=True)
    )


def _levels(effects: Sequence[Effect], policy: Policy) -> Iterator[tuple[float, float]]:
    """Yield the confidence of each effect's interval, and its adjusted p value."""
    if policy.correction == "none":
        yield from ((1 - policy.level, effect.p_value) for effect in effects)
        return
    if not effects:
        return
    changed = benjamini_hochberg([effect.p_value for effect in effects], q=policy.level)
    equivalent = benjamini_hochberg([effect.p_equivalent(policy.margin) for effect in effects], q=policy.level)
    of_change = 1 - policy.level * max(sum(changed.found), 1) / len(effects)
    of_equivalence = 1 - min(2 * policy.level * max(sum(equivalent.found), 1) / len(effects), 0.5)
    found = zip(effects, changed.found, equivalent.found, changed.adjusted, strict=True)
    for effect, differs, equal, adjusted in found:
        inside = effect.p_equivalent(policy.margin) <= (1 - of_change) / 2
        of_neither = max(of_change, of_equivalence)
        yield of_equivalence if equal else of_change if differs and not inside else of_neither, adjusted


def _judgement(effect: Effect, policy: Policy, confidence: float, adjusted: float) -> Judgement:
    low, high = _interval(effect, confidence)
    verdict, outcome = of_interval(low, high, policy)
    return Judgement(
        ratio=Estimate(math.exp(effect.log_ratio), low, high),
        confidence=confidence,
        p_value=effect.p_value,
        p_adjusted=adjusted,
        verdict=policy.words.get(verdict, verdict),
        outcome=outcome,
        further=_further(effect, policy, confidence) if outcome == "undecided" else None,
    )


def _interval(effect: Effect, confidence: float) -> tuple[float, float]:
    half = effect.half_width(confidence)
    return _bounded(effect.log_ratio - half), _bounded(effect.log_ratio + half)


def _bounded(log: float) -> float:
    """Return e^log, kept within what a float and a reader can hold: few runs give intervals of any width."""
    return math.exp(min(max(log, -100.0), 100.0))


def of_interval(low: float, high: float, policy: Policy) -> tuple[Verdict, Outcome]:
    """Return the verdict on the interval of a ratio of costs, and what it means."""
    verdict = verdict_of(low, high, margin=policy.margin, change_beyond_margin=policy.change == "excludes the margin")
    return verdict, _outcome(verdict, low, high, policy)


def _outcome(verdict: Verdict, low: float, high: float, policy: Policy) -> Outcome:
    """Return what a verdict means; with a largest slowdown, the interval is compared with that instead."""
    if policy.max_slowdown is not None:
        limit = 1 + policy.max_slowdown
        return "worse" if low > limit else "fine" if high <= limit else "undecided"
    if verdict is Verdict.UNDECIDED:
        return "undecided"
    if verdict is Verdict.FASTER:
        return "worse" if policy.worse == "any change" else "fine"
    return "worse" if verdict is Verdict.SLOWER else "fine"


def _further(effect: Effect, policy: Policy, confidence: float) -> int | None:
    """Return how many more replicates would decide, if the estimate and the spreads stay what they are."""
    both = policy.adds_to == "both sides"
    present = min(effect.old_replicates, effect.new_replicates) if both else effect.new_replicates
    counts = range(present + 1, policy.most_replicates + 1)

    def decides(count: int) -> bool:
        later = effect.with_replicates(count if both else effect.old_replicates, count)
        return of_interval(*_interval(later, confidence), policy)[1] != "undecided"

    if not both:
        return next((count - present for count in counts if decides(count)), None)
    index = bisect.bisect_left(counts, True, key=decides)
    return counts[index] - present if index < len(counts) else None


_OF_BYTES = {Verdict.SLOWER: Verdict.MORE_MEMORY, Verdict.FASTER: Verdict.LESS_MEMORY}


def of_metric(verdict: Verdict, metric: Metric) -> Verdict:
    """Return the verdict in the words of a metric: memory is not slower, it is more."""
    in_bytes = _OF_BYTES.get(verdict) if scenarios.get(metric).unit == "bytes" else None
    return in_bytes or verdict
