"""What more at a time gains: from which batch on nothing, and how much of a step waits for data."""

import itertools
import statistics
from collections.abc import Iterable, Iterator, Mapping

from levelfield.analysis import types
from levelfield.record.schema import Block, Case, Run, Window
from levelfield.statistics.counting import counted_rounds

ENOUGH = 0.95
"""Share of the highest rate that counts as having reached it."""

_Key = tuple[str, str, int, str]
"""Model, precision, number of threads and device."""
_Arm = tuple[str, str]
"""Arm and backend."""


def saturations(blocks: Iterable[types.BlockAnalysis]) -> tuple[types.Saturation, ...]:
    """Return the saturation of every model of which two batches at the least were measured."""
    sweeps: dict[_Key, dict[_Arm, dict[int, types.Estimate]]] = {}
    largest: dict[_Key, Case] = {}
    for block in blocks:
        if not isinstance(block, types.TimedBlock) or not block.case.definition.serves:
            continue
        case = block.case
        key = (case.model, case.precision, case.threads, case.device)
        arms = sweeps.setdefault(key, {})
        if key not in largest or case.batch > largest[key].batch:
            largest[key] = case
        for row in block.rows:
            rate = row.items_per_second
            if row.is_equal and rate is not None and rate.value > 0:
                rates = arms.setdefault((row.arm, row.backend), {})
                if case.scenario == "throughput" or case.batch not in rates:
                    rates[case.batch] = rate
    return tuple(found for key, arms in sweeps.items() if (found := _of(largest[key], arms)) is not None)


def _of(case: Case, arms: Mapping[_Arm, Mapping[int, types.Estimate]]) -> types.Saturation | None:
    found = tuple(reached(*arm, rates) for arm, rates in arms.items() if len(rates) > 1)
    if not found:
        return None
    batches = tuple(sorted({rate.batch for arm in found for rate in arm.rates}))
    return types.Saturation(case=case, batches=batches, arms=found)


def reached(arm: str, backend: str, rates: Mapping[int, types.Estimate]) -> types.ArmSaturation:
    """Return the first batch in which an arm reaches enough of its highest rate, and which others may be it."""
    batches = sorted(rates)
    highest = max(rate.value for rate in rates.values())
    first = next(batch for batch in batches if rates[batch].value >= ENOUGH * highest)
    return types.ArmSaturation(
        arm=arm,
        backend=backend,
        rates=tuple(types.BatchRate(batch, rates[batch]) for batch in batches),
        saturates_at=first if first != batches[-1] else None,
        gain=highest / rates[batches[0]].value,
        allowed=_allowed({batch: rates[batch] for batch in batches}),
    )


def _allowed(rates: Mapping[int, types.Estimate]) -> tuple[int, ...]:
    """Return the batches, smallest first, that may be the first to reach enough, by the intervals of the rates."""
    bounds = {batch: (rate.low, rate.high) for batch, rate in rates.items()}
    known = {batch: (low, high) for batch, (low, high) in bounds.items() if low is not None and high is not None}
    if len(known) < len(rates):
        return ()
    at_least = max(low for low, _ in known.values())
    able = [batch for batch, (_, high) in known.items() if high >= ENOUGH * at_least]
    sure = next(
        (
            batch
            for batch, (low, _) in known.items()
            if low >= ENOUGH * max(high for other, (_, high) in known.items() if other != batch)
        ),
        max(known),
    )
    return tuple(batch for batch in able if batch <= sure)


FEED, WORKERS = "feed", "feed workers"
"""Settings in which an arm says how it reads."""


def waits(run: Run, blocks: Iterable[types.BlockAnalysis]) -> tuple[types.Waiting, ...]:
    """Return the waiting of every arm whose outputs are right, in every case that waits for data."""
    found: list[types.Waiting] = []
    for recorded, block in zip(run.blocks, blocks, strict=True):
        if not isinstance(block, types.TimedBlock):
            continue
        arms = tuple(wait for row in block.rows if row.is_equal if (wait := _arm_wait(recorded, row)) is not None)
        found += [types.Waiting(block.case, arms)] if arms else []
    return tuple(found)


def _arm_wait(block: Block, row: types.Row) -> types.ArmWait | None:
    launches = [windows for windows in _waiting_windows(block, row.arm) if windows]
    if not launches:
        return None
    shares = [_waited_ns(windows) / _duration_ns(windows) for windows in launches]
    windows = [window for launch in launches for window in launch]
    items = block.case.batch * sum(window.calls for window in windows)
    return types.ArmWait(
        arm=row.arm,
        share=types.Estimate(statistics.median(shares), min(shares), max(shares)),
        items_per_s=1e9 * items / _duration_ns(windows),
        step_items_per_s=1e9 * items / (_duration_ns(windows) - _waited_ns(windows)),
        feed=row.settings.get(FEED, ""),
        workers=row.settings.get(WORKERS, ""),
    )


def _waiting_windows(block: Block, arm: str) -> Iterator[list[Window]]:
    """Yield, for each generation, the windows of an arm that waited for data, in the rounds that count."""
    counted = counted_rounds([[bool(each.disturbed) for each in generation.rounds] for generation in block.generations])
    for generation, counts in zip(block.generations, counted, strict=True):
        rounds = itertools.compress(generation.rounds, counts)
        windows = (turn.window for each in rounds for turn in each.turns if turn.arm == arm)
        yield [
            window
            for window in windows
            if window is not None and window.waited_ns is not None and 0 <= window.waited_ns < window.window_ns
        ]


def _waited_ns(windows: Iterable[Window]) -> int:
    return sum(window.waited_ns or 0 for window in windows)


def _duration_ns(windows: Iterable[Window]) -> int:
    return sum(window.window_ns for window in windows)
