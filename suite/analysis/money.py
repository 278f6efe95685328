"""What times cost at a price an hour, and what measured energy emits: of a million items, and of training to a target.

Cost is time times price, so its interval is that of the time. The machine is paid for while it computes, all of it: an
arm that uses two of its cores costs as much as one that uses all. Energy is what counters measured (RAPL, NVML), never
an estimate from a data sheet; where none was read there are no emissions, with the reason. Cost to a target accuracy is
the second metric of DAWNBench (Coleman et al., 2017).
"""

import msgspec

from suite.analysis import device, energy
from suite.analysis.estimates import level
from suite.analysis.types import Analysis, ArmRow, ConvergenceBlock, ConvergenceRow, Estimate, Row, TimedBlock
from suite.record.schema import Absent, Block, Case, Price, Run, Turn

ITEMS = 1_000_000
NS_PER_HOUR = 3.6e12
J_PER_KWH = 3.6e6
_WITH_NUMBERS = frozenset({"ranked", "control", "shown"})


class CostRow(msgspec.Struct, frozen=True):
    """One arm of one case."""

    arm: str
    backend: str
    cost: Estimate | Absent
    """In the price's currency."""
    carbon_g: Estimate | Absent
    """Grams of CO2 equivalents; without an interval where launches are too few for one, or too short each."""


class CostBlock(msgspec.Struct, frozen=True):
    """One case: costs of a million items, or where it trains to a target, of one such training."""

    case: Case
    target: float | None
    """Accuracy that was trained to; None: costs are of a million items."""
    rows: tuple[CostRow, ...]
    counters: tuple[str, ...]
    """What energy was read of: `the processor`, `the GPU`; empty: of nothing."""


def summarise(run: Run, analysis: Analysis) -> tuple[CostBlock, ...]:
    """Return the costs of every timed case and every training to a target; empty where no price was given.

    Single operators are left out: nobody pays for a million matrix products.

    Parameters
    ----------
    run, analysis
        A record whose settings have a price of the machine, of emissions, or both; and the analysis of it.
    """
    price, carbon = run.settings.price, run.settings.carbon_g_per_kwh
    if price is None and carbon is None:
        return ()
    recorded = {block.case.id: block for block in run.blocks}
    found: list[CostBlock] = []
    for block in analysis.blocks:
        if isinstance(block, TimedBlock) and not block.case.definition.operators:
            found.append(_timed(block, recorded[block.case.id], price, carbon))
        elif isinstance(block, ConvergenceBlock):
            found.append(_converging(block, price, carbon))
    return tuple(found)


def at(run: Run, price: Price | None, carbon_g_per_kwh: float | None) -> Run:
    """Return a record with another price of the machine, of emissions, or both.

    Parameters
    ----------
    run
        A record.
    price, carbon_g_per_kwh
        None: it stays as the record has it.
    """
    settings = run.settings
    return msgspec.structs.replace(
        run,
        settings=msgspec.structs.replace(
            settings,
            price=price or settings.price,
            carbon_g_per_kwh=carbon_g_per_kwh or settings.carbon_g_per_kwh,
        ),
    )


def cost(time_ns: Estimate, price: Price) -> Estimate:
    """Return what a time costs.

    Parameters
    ----------
    time_ns
        Nanoseconds.
    price
        Of an hour of one machine.

    Examples
    --------
    >>> cost(Estimate(1.8e12), Price(1.2)).value
    0.6
    """
    return time_ns.scaled(price.per_hour / NS_PER_HOUR)


def item_ns(row: Row, case: Case) -> Estimate | None:
    """Return the time of one item, nanoseconds: of a call by its items, or the inverse of items per second.

    Parameters
    ----------
    row, case
        An arm's row, and the case that it answers.
    """
    if not case.per_item:
        return row.median_ns.scaled(1 / case.items) if row.median_ns is not None else None
    rate = row.items_per_second
    return rate.inverse.scaled(1e9) if rate is not None and rate.value > 0 else None


def _timed(block: TimedBlock, recorded: Block, price: Price | None, carbon: float | None) -> CostBlock:
    rows = []
    counters: dict[str, None] = {}
    for row in block.rows:
        joules, read = _joules(recorded, row.arm)
        counters |= dict.fromkeys(read)
        rows.append(
            CostRow(
                arm=row.arm,
                backend=row.backend,
                cost=_cost(row, item_ns(row, block.case), ITEMS, price),
                carbon_g=_without_numbers(row) or _carbon(joules, carbon),
            )
        )
    return CostBlock(block.case, None, tuple(rows), tuple(counters))


def _converging(block: ConvergenceBlock, price: Price | None, carbon: float | None) -> CostBlock:
    energy_ = Absent("energy is counted over windows, and a training to a target has none")
    rows = (
        CostRow(
            arm=row.arm,
            backend=row.backend,
            cost=_cost(row, _whole_time_ns(row), 1, price),
            carbon_g=_without_numbers(row) or _carbon(energy_, carbon),
        )
        for row in block.rows
    )
    return CostBlock(block.case, block.target, tuple(rows), ())


def _whole_time_ns(row: ConvergenceRow) -> Estimate | None:
    """Return the time to the target; None where a seed has none, since the others would flatter the arm."""
    return row.time_ns if row.seeds_reached == row.launches else None


def _without_numbers(row: ArmRow) -> Absent | None:
    """Say why an arm has no costs; None where it has some."""
    if row.standing in _WITH_NUMBERS:
        return None
    reason = row.reason.rstrip(". ") or row.standing
    return Absent(f"not equal to the reference: {reason}" if row.standing == "unequal" else reason)


def _cost(row: ArmRow, time_ns: Estimate | None, times: int, price: Price | None) -> Estimate | Absent:
    if price is None:
        return Absent("no price was given")
    if missing := _without_numbers(row):
        return missing
    if time_ns is None:
        return Absent(row.reason.rstrip(". ") or "it has no time")
    return cost(time_ns.scaled(times), price)


def _carbon(joules: Estimate | Absent, g_per_kwh: float | None) -> Estimate | Absent:
    if g_per_kwh is None:
        return Absent("no carbon intensity was given")
    return joules if isinstance(joules, Absent) else joules.scaled(ITEMS * g_per_kwh / J_PER_KWH)


def _joules(block: Block, arm: str) -> tuple[Estimate | Absent, tuple[str, ...]]:
    """Return the measured joules of an item, and what they were read of.

    On a GPU its own energy is the least that must be known; the processor's is added where it is known too.
    """
    launches = energy.counted_by_launch(block, arm)
    together = [turn for turns in launches.values() for turn in turns]
    whole, read = _sum(block, together)
    if isinstance(whole, Absent):
        return whole, ()
    values = [joules for turns in launches.values() if not isinstance(joules := _sum(block, turns)[0], Absent)]
    if len(values) < len(launches):
        return Estimate(whole), read
    return level(values) or Estimate(whole), read


def _sum(block: Block, turns: list[Turn]) -> tuple[float | Absent, tuple[str, ...]]:
    if all(turn.noise is None for turn in turns) and all(turn.device is None for turn in turns):
        return Absent("no counter of energy was read"), ()
    items = block.case.items
    packages = energy.per_item(turns, items, energy.of_packages, energy.MIN_RAPL_S)
    if block.case.device == "cpu":
        return packages, ("the processor",)
    spent = energy.per_item(turns, items, device.of_device, device.MIN_WINDOW_S)
    if isinstance(spent, Absent):
        return spent, ()
    if isinstance(packages, Absent):
        return spent, ("the GPU",)
    return spent + packages, ("the processor", "the GPU")
