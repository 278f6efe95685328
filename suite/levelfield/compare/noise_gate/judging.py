"""The verdict on one case by a derived gate: more than half of the new runs above the limit."""

import math
from collections.abc import Iterable

import msgspec
import numpy as np

from levelfield.analysis.status import SMOKE
from levelfield.analysis.types import Estimate
from levelfield.compare import phrases
from levelfield.compare.answers import NOT_MEASURED
from levelfield.compare.noise_gate.file import ratio
from levelfield.compare.types import Derived, Gate, Outcome, Row, Verdict
from levelfield.compare.verdicts import change_policy, of_interval, of_metric
from levelfield.report import units
from levelfield.statistics import prediction, verdicts
from levelfield.statistics.prediction import Earlier

MOST_NEW = 5
"""New runs beyond which more runs of the baseline help more."""


def why_not_judged(id_: str, derived: Derived, labels: Iterable[str]) -> str:
    """Say why a case is not compared with a limit; empty where it is."""
    if SMOKE in labels:
        return NOT_MEASURED
    return "" if id_ in derived.cases else "the gate has no limit for it"


def judged(row: Row, costs: tuple[list[float], list[float]], gate: Gate, derived: Derived) -> Row:
    """Return a row with its verdict.

    The interval of the ratio has the limit's reach on both ends, so that its lower bound is above 1 where more than
    half of the new runs are above the limit. With a largest slowdown, the interval is compared with that, as always.
    """
    earlier = prediction.from_runs(np.log(costs[0]))
    new = sorted(math.log(cost) - earlier.mean for cost in costs[1])
    needed = prediction.majority(len(new))
    reach = earlier.reach(len(new), derived.level)
    low, high = ratio(new[-needed] - reach), ratio(new[needed - 1] + reach)
    verdict, outcome = of_interval(low, high, change_policy(gate))
    inside = verdict is verdicts.Verdict.INCONCLUSIVE
    if inside and gate.max_slowdown is None:
        outcome = "fine"
    finds = ratio(earlier.finds(len(new), derived.level, derived.power))
    middle = math.exp(float(np.median(new)))
    limit = math.exp(earlier.mean) * ratio(reach)
    draft = msgspec.structs.replace(
        row,
        verdict=Verdict.WITHIN if inside else of_metric(verdict, row.metric),
        outcome=outcome,
        new=math.exp(earlier.mean) * middle,
        ratio=Estimate(middle, low, high),
        confidence=1 - 2 * derived.level,
        limit=limit,
        finds=finds,
    )
    return msgspec.structs.replace(draft, reason=_reason(draft, earlier, outcome, gate, derived))


def _reason(row: Row, earlier: Earlier, outcome: Outcome, gate: Gate, derived: Derived) -> str:
    """`limit 5.9 µs (× 1.13) for 1 run: 8 runs of baseline good spread by 1.35 %`, and why it is not decided."""
    runs = units.plural(row.new_replicates, "run")
    factor = phrases.factor((row.limit or 0) / math.exp(earlier.mean))
    limit = f"limit {phrases.cost(row.limit, row.metric)} (× {factor}) for {runs}"
    if outcome == "undecided" and gate.max_slowdown is not None:
        return f"{limit}; {_what_would_decide(row, earlier, gate.max_slowdown, derived)}"
    if outcome != "worse":
        return f"{limit}, finds {units.percent((row.finds or 1) - 1)}"
    spread = f"{earlier.runs} runs of baseline {derived.baseline} spread by {units.percent(earlier.spread)}"
    return f"{limit}: {spread}"


def _what_would_decide(row: Row, earlier: Earlier, wanted: float, derived: Derived) -> str:
    asked = f"{units.percent(wanted)} was asked"
    if (row.finds or 0) <= 1 + wanted:
        return f"{asked}, which the interval holds"
    for count in range(row.new_replicates + 1, MOST_NEW + 1):
        if earlier.finds(count, derived.level, derived.power) <= math.log1p(wanted):
            return f"{asked}, and it finds {units.percent((row.finds or 1) - 1)}: {count} new runs would decide"
    return (
        f"{asked}, and it finds {units.percent((row.finds or 1) - 1)}: no number of new runs up to {MOST_NEW} would "
        "decide, derive the gate from more runs"
    )
