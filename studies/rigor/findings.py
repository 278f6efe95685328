"""What every rule makes of a stream, counted; and where the stream's variance lies."""

from collections.abc import Sequence

import numpy as np
from scipy.special import betaincinv

from studies.rigor.ours import rules
from studies.rigor.record import Finding, Tally, Variance
from studies.rigor.rivals import RULES
from studies.rigor.rules import Rules
from studies.rigor.table import Outcome, Rule, Table
from suite.statistics.errors import InsufficientData
from suite.statistics.proportions import proportion
from suite.statistics.variance import split_variance


def find(table: Table, frozen: Rules) -> tuple[Finding, ...]:
    """Apply every rule to a stream, without an effect and with each of them."""
    return tuple(apply(rule, table, frozen.effects) for rule in (*rules(table, frozen), *RULES))


def apply(rule: Rule, table: Table, effects: Sequence[float]) -> Finding:
    """Apply one rule; a stream too short for its schedule gives no decision."""
    outcomes = {effect: rule.decide(table, 1 + effect) for effect in effects}
    seconds = [outcome.seconds for outcome in outcomes[0.0]]
    return Finding(
        rule=rule.name,
        schedule=rule.schedule,
        source=rule.source,
        ours=rule.ours,
        seconds=float(np.mean(seconds)) if seconds else None,
        seconds_most=max(seconds, default=None),
        tallies=tuple(count(effect, each) for effect, each in outcomes.items()),
    )


def count(effect: float, outcomes: Sequence[Outcome]) -> Tally:
    """Count what a rule said, and bound the share that matters.

    References
    ----------
    E. L. Korn, B. I. Graubard (1998). Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 24, 193–201 (the exact interval at an effective sample size).
    """
    answers = [outcome.answer for outcome in outcomes]
    wanted = sum(each == "slower" or (effect == 0 and each == "faster") for each in answers)
    clusters = len({outcome.cluster for outcome in outcomes})
    low, high = _exact(wanted / len(answers), clusters) if answers else (None, None)
    return Tally(
        effect=effect,
        slower=answers.count("slower"),
        faster=answers.count("faster"),
        same=answers.count("same"),
        inconclusive=answers.count("inconclusive"),
        wanted=proportion(wanted, len(answers)) if answers else None,
        clusters=clusters,
        clustered_low=low,
        clustered_high=high,
    )


def _exact(share: float, observations: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper–Pearson interval of a share of so many observations; the count need not be whole."""
    tail = (1 - confidence) / 2
    hits = share * observations
    low = 0.0 if share == 0 else float(betaincinv(hits, observations - hits + 1, tail))
    high = 1.0 if share == 1 else float(betaincinv(hits + 1, observations - hits, 1 - tail))
    return low, high


def variance(table: Table) -> Variance | None:
    """Split the variance of a stream; None where it is too short."""
    logs = np.log(table.median_ns)
    try:
        everything = split_variance(logs)
        pairs = [split_variance(logs[:, :, 2 * lane : 2 * lane + 2]) for lane in range(table.lanes)]
    except InsufficientData:
        return None
    return Variance(
        all_arms=everything,
        pair_window_sd=root_mean_square([pair.window_sd for pair in pairs]),
        pair_launch_sd=root_mean_square([pair.launch_sd for pair in pairs]),
        drift_over_generations_sd=float(logs.mean(axis=(1, 2)).std(ddof=1)),
    )


def root_mean_square(deviations: Sequence[float]) -> float:
    """Return the standard deviation whose square is the mean of the squares of several."""
    return float(np.sqrt(np.mean(np.square(deviations))))
