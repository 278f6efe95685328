"""From which batch a larger one gains nothing: a sentence a model for the terminal, and the page's table."""

import math

from levelfield.analysis.types import ArmSaturation, Estimate, Saturation
from levelfield.report import names, units
from levelfield.report.sentences import join
from levelfield.report.units import Scale

LEAD = (
    f"A batch is enough for an arm that reaches 95{units.NBSP}% of its highest throughput there; that rate is set in "
    "bold. Small below it stands what the intervals of the rates allow besides."
)
RISING = f"still{units.NBSP}rising"
"""At the largest batch that was measured."""


def sentence(found: Saturation) -> str:
    """Say from which batch on arms gain nothing, and which still gain at the largest."""
    groups: dict[int | None, list[str]] = {}
    for arm in found.arms:
        groups.setdefault(arm.saturates_at, []).append(arm.arm if arm.saturates_at else f"{arm.arm} {gain(arm)}")
    clauses = [
        f"batch {batch} is enough for {join(groups[batch])}"
        for batch in sorted(batch for batch in groups if batch is not None)
    ]
    if None in groups:
        clauses.append(f"{RISING} at {units.count(max(found.batches))}: {join(groups[None])}")
    return f"{where(found)}: {'; '.join(clauses)}."


def all_rise(found: Saturation) -> bool:
    """Return whether every arm still gains at the largest batch, whatever the intervals allow."""
    return all(arm.saturates_at is None and not besides(arm) for arm in found.arms)


def where(found: Saturation) -> str:
    """`ResNet-50, fp32, 2 threads`, and the device where it is not the CPU."""
    case = found.case
    text = f"{names.model(case.model)}, {case.precision}, {units.plural(case.threads, 'thread')}"
    return text if case.device == "cpu" else f"{text}, {case.device}"


def scale(found: Saturation) -> Scale:
    """Return the one scale in which all rates of a table are written: that of the middle of the least and the most."""
    rates = [rate.items_per_s.value for arm in found.arms for rate in arm.rates]
    return units.scale_count(math.sqrt(min(rates)) * math.sqrt(max(rates)))


def rate(arm: ArmSaturation, batch: int) -> Estimate | None:
    """Return an arm's items per second in a batch, with its interval.

    Returns none where the arm was not measured in that batch.
    """
    return next((each.items_per_s for each in arm.rates if each.batch == batch), None)


def gain(arm: ArmSaturation) -> str:
    """`1.34×`: the highest rate over that of the smallest batch."""
    return f"{units.digits(arm.gain)}×"


def enough(arm: ArmSaturation) -> str:
    """Return the smallest batch that is enough, or that throughput still rises."""
    return _named(arm, arm.saturates_at or arm.rates[-1].batch)


def besides(arm: ArmSaturation) -> str:
    """Say what else the intervals allow: `or 1`, `or still rising`, `4 to still rising`, or nothing."""
    if len(arm.allowed) > 2:
        return f"{_named(arm, arm.allowed[0])} to {_named(arm, arm.allowed[-1])}"
    return "".join(f"or {_named(arm, batch)}" for batch in arm.allowed if _named(arm, batch) != enough(arm))


def _named(arm: ArmSaturation, batch: int) -> str:
    return RISING if batch == arm.rates[-1].batch else units.count(batch)
