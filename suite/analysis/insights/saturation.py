"""From which batch on a larger one gains nothing, where more than one was measured."""

from collections.abc import Iterable, Mapping

from suite.analysis.insights.types import ArmSaturation, BatchRate, Saturation, Span
from suite.analysis.types import BlockAnalysis, Estimate, TimedBlock

ENOUGH = 0.95
"""Share of the highest rate that counts as having reached it."""
SCENARIOS = frozenset({"latency", "throughput"})
"""Both count items from and to host memory; latency is the batch of one."""

_Key = tuple[str, str, int, str]


def derive(blocks: Iterable[BlockAnalysis]) -> tuple[Saturation, ...]:
    """Return the saturation of every model of which two batches at the least were measured."""
    sweeps: dict[_Key, dict[str, dict[int, Estimate]]] = {}
    for block in blocks:
        if not isinstance(block, TimedBlock) or block.case.scenario not in SCENARIOS:
            continue
        case = block.case
        arms = sweeps.setdefault((case.model, case.precision, case.threads, case.device), {})
        for row in block.rows:
            rate = row.items_per_second
            if row.standing in ("ranked", "shown") and row.parity is not None and rate is not None and rate.value > 0:
                rates = arms.setdefault(row.arm, {})
                if case.scenario == "throughput" or case.batch not in rates:
                    rates[case.batch] = rate
    return tuple(found for key, arms in sweeps.items() if (found := _of(key, arms)) is not None)


def _of(key: _Key, arms: Mapping[str, Mapping[int, Estimate]]) -> Saturation | None:
    told = tuple(_arm(arm, rates) for arm, rates in arms.items() if len(rates) > 1)
    if not told:
        return None
    model, precision, threads, device = key
    return Saturation(
        model=model,
        precision=precision,
        threads=threads,
        device=device,
        batches=tuple(sorted({rate.batch for arm in told for rate in arm.rates})),
        arms=told,
    )


def _arm(arm: str, rates: Mapping[int, Estimate]) -> ArmSaturation:
    batches = sorted(rates)
    highest = max(rate.value for rate in rates.values())
    reached = next(batch for batch in batches if rates[batch].value >= ENOUGH * highest)
    return ArmSaturation(
        arm=arm,
        rates=tuple(
            BatchRate(batch, Span(rates[batch].value, rates[batch].low, rates[batch].high)) for batch in batches
        ),
        saturates_at=reached if reached != batches[-1] else None,
        gain=highest / rates[batches[0]].value,
    )
