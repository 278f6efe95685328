"""Tables of the machine at work: GPU, energy, and what the run's time went into."""

from collections.abc import Callable
from typing import Any

from levelfield.analysis import Analysis
from levelfield.analysis.hardware import DeviceBlock, DeviceRow, EnergyBlock, EnergyRow
from levelfield.analysis.money import CostBlock, CostRow
from levelfield.analysis.time_spent import Part, TimeSpent, largest
from levelfield.record.schema import Absent, Run
from levelfield.report import names, sentences, tables, units
from levelfield.report.sentences import IN_THESE_MINUTES
from levelfield.report.tables import ARM, Cell, Column, Table, make


def _whole(value: float | Absent) -> Absent | str:
    return value if isinstance(value, Absent) else units.fixed(value, 0)


def _joules(value: float | Absent) -> Absent | str:
    return value if isinstance(value, Absent) else units.digits(value)


def _with_under(value: float | Absent, under: float | Absent, write: Callable[[Any], Absent | str] = _whole) -> Cell:
    return _above(write(value), write(under))


def _above(value: Absent | str, under: Absent | str) -> Cell:
    first, second = tables.cell(value), tables.cell(under)
    return Cell(first.text, under=second.text, reason=first.reason or second.reason, tone=first.tone)


def _size(value: float | Absent) -> Absent | str:
    return value if isinstance(value, Absent) else units.size(value)


def _errors(row: DeviceRow) -> Cell:
    codes = row.xid_errors
    written = codes if isinstance(codes, Absent) else ", ".join(map(str, dict.fromkeys(codes))) or "none"
    return _above(_whole(row.ecc_errors), written)


def _throttled(row: DeviceRow) -> str:
    if not row.throttled:
        return units.NO_VALUE
    return f"{', '.join(row.throttled)} ({row.throttled_windows} of {units.plural(row.windows, 'window')})"


GPU: tuple[Column[DeviceRow], ...] = (
    ARM,
    Column("J an item", lambda row: _joules(row.energy_per_item_j)),
    Column("Items a joule", lambda row: _joules(row.items_per_joule)),
    Column("W, mean", lambda row: _whole(row.power_w)),
    Column(
        "Busy, %",
        lambda row: row.utilisation if isinstance(row.utilisation, Absent) else units.fixed(100 * row.utilisation, 0),
    ),
    Column("SM clock, MHz", lambda row: _with_under(row.sm_clock_mhz, row.sm_clock_lowest_mhz), small="lowest"),
    Column("Memory clock, MHz", lambda row: _whole(row.memory_clock_mhz)),
    Column("°C, highest", lambda row: _whole(row.temperature_c)),
    Column("Memory held", lambda row: _with_under(row.memory_bytes, row.allocated_bytes, _size), small="allocated"),
    Column("Clock held down by", _throttled, numeric=False),
    Column("ECC errors", _errors, small="XID"),
)
ENERGY: tuple[Column[EnergyRow], ...] = (
    ARM,
    Column("J an item", lambda row: _joules(row.per_item_j)),
    Column("Items a joule", lambda row: _joules(row.items_per_joule)),
    Column("W, mean", lambda row: _joules(row.power_w)),
    Column("Windows", lambda row: str(row.windows)),
)


def gpu(block: DeviceBlock) -> Table:
    case = block.case
    return tables.make(sentences.title(case), GPU, block.rows, label=f"the GPU in {case.id}", case=case, look="compact")


def energy(block: EnergyBlock) -> Table:
    """Return what the processor took while each arm of a case computed."""
    case = block.case
    return tables.make(
        sentences.title(case), ENERGY, block.rows, label=f"CPU energy in {case.id}", case=case, look="compact"
    )


def time_spent(spent: TimeSpent) -> Table:
    """Return what the run's wall-clock time went into."""
    chosen: tuple[Column[Part], ...] = (
        Column("What", lambda part: part.what, numeric=False),
        Column("Time", lambda part: units.time(part.seconds * 1e9)),
        Column("Share", lambda part: units.percent(part.share)),
    )
    title = "Wall-clock time, from the beginning of preparation to the end of the last window"
    return tables.make(title, chosen, largest(spent), label="what the run’s time was spent on")


COST = "Cost"


def cost_tables(run: Run, analysis: Analysis) -> tuple[Table, ...]:
    """Return a table for each case; none where the run has no price."""
    return tuple(_table(run, block) for block in analysis.costs)


def cost_lead(run: Run) -> str:
    """Say what the costs are computed from; empty where no price was given."""
    price = run.settings.price
    if price is None:
        return ""
    return (
        f"Cost is time times {units.price(price)} for the whole machine, however many of its cores an arm uses; "
        f"its interval is that of the time (95 % {IN_THESE_MINUTES})."
    )


def _table(run: Run, block: CostBlock) -> Table:
    price = run.settings.price
    currency = price.currency if price is not None else ""
    heading = f"{currency or 'Cost'} {'a million items' if block.target is None else 'a training'}"
    cost: Column[CostRow] = Column(
        heading, lambda row: None if isinstance(row.cost, Absent) else row.cost, interval="95 %"
    )
    label, notes = f"cost of {block.case.id}", _notes(block)
    return make(_title(block), (ARM, cost), block.rows, label=label, notes=notes, case=block.case, look="compact")


def _title(block: CostBlock) -> str:
    case = block.case
    if block.target is not None:
        what = f"{names.network(case)}, training to {units.accuracy(block.target)}, batch {case.batch}"
    else:
        what = sentences.title(case)
    about = [case.precision, units.plural(case.threads, "thread"), case.device]
    about += [units.plural(case.processes, "process", "processes")] if case.processes > 1 else []
    return f"{what}, {', '.join(about)}"


def _notes(block: CostBlock) -> tuple[str, ...]:
    arms: dict[str, list[str]] = {}
    for row in block.rows:
        if isinstance(row.cost, Absent):
            arms.setdefault(row.cost.reason, []).append(row.arm)
    return tuple(
        f"No cost{'' if len(of) == len(block.rows) else f' of {sentences.join(of)}'}: {reason}."
        for reason, of in arms.items()
    )
