"""What times cost at a price an hour: of a million items, and of training to a target.

Cost is time times price, so its interval is that of the time. The machine is paid for while it computes, all of it: an
arm that uses two of its cores costs as much as one that uses all. Cost to a target accuracy is the second metric of
DAWNBench (Coleman et al., 2017).
"""

from collections.abc import Sequence

import msgspec

from levelfield.analysis import types
from levelfield.record.schema import Absent, Case, Price, Run

ITEMS = 1_000_000
NS_PER_HOUR = 3.6e12
_WITH_NUMBERS = frozenset({"ranked", "control", "shown"})


class CostRow(msgspec.Struct, frozen=True):
    """One arm of one case."""

    arm: str
    backend: str
    cost: types.Estimate | Absent
    """In the price's currency."""


class CostBlock(msgspec.Struct, frozen=True):
    """One case: costs of a million items, or where it trains to a target, of one such training."""

    case: Case
    target: float | None
    """Accuracy that was trained to; None: costs are of a million items."""
    rows: tuple[CostRow, ...]


def summarise(run: Run, blocks: Sequence[types.BlockAnalysis]) -> tuple[CostBlock, ...]:
    """Return the costs of every timed case and every training to a target; empty where no price was given.

    Single operators are left out: nobody pays for a million matrix products.
    """
    price = run.settings.price
    if price is None:
        return ()
    return tuple(
        _block(block, price)
        for block in blocks
        if isinstance(block, types.TimedBlock | types.ConvergenceBlock) and not block.case.definition.operators
    )


def at(run: Run, price: Price) -> Run:
    """Return a record with another price of the machine."""
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, price=price))


def _block(block: types.TimedBlock | types.ConvergenceBlock, price: Price) -> CostBlock:
    rows = tuple(CostRow(row.arm, row.backend, _cost(row, _time_ns(row, block.case), price)) for row in block.rows)
    return CostBlock(block.case, block.target if isinstance(block, types.ConvergenceBlock) else None, rows)


def _time_ns(row: types.Row | types.ConvergenceRow, case: Case) -> types.Estimate | None:
    """Return the time of so many items, or to the target; None where a seed has none: the others would flatter."""
    if isinstance(row, types.ConvergenceRow):
        return row.time_ns if row.seeds_reached == row.launches else None
    found, _ = types.compared(row, case)
    if found is None or found.value <= 0:
        return None
    return found.inverse.scaled(1e9 * ITEMS) if case.per_item else found.scaled(ITEMS / case.items)


def _without_numbers(row: types.ArmRow) -> Absent | None:
    """Say why an arm has no costs; None where it has some."""
    if row.standing in _WITH_NUMBERS:
        return None
    reason = row.reason.rstrip(". ") or row.standing
    return Absent(f"not equal to the reference: {reason}" if row.standing == "unequal" else reason)


def _cost(row: types.ArmRow, time_ns: types.Estimate | None, price: Price) -> types.Estimate | Absent:
    if missing := _without_numbers(row):
        return missing
    if time_ns is None:
        return Absent(row.reason.rstrip(". ") or "it has no time")
    return time_ns.scaled(price.per_hour / NS_PER_HOUR)
