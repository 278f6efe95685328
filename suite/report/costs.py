"""Tables of what times cost and what measured energy emits, for the page and the terminal."""

import msgspec

from suite.analysis import money
from suite.analysis.money import CostBlock, CostRow
from suite.analysis.types import Analysis, Estimate
from suite.record.schema import Absent, Case, Run
from suite.report import names, sentences, units
from suite.report.separation import IN_THESE_MINUTES

TITLE = "Cost"
_ONE = units.Scale("", 1.0)


class Line(msgspec.Struct, frozen=True):
    """One arm: a cell for each column, as value and bounds."""

    arm: str
    backend: str
    cells: tuple[tuple[str, str], ...]


class CostTable(msgspec.Struct, frozen=True):
    """One case."""

    case: Case
    title: str
    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    """Why there are no numbers, each reason once."""


def tables(run: Run, analysis: Analysis) -> tuple[CostTable, ...]:
    """Return a table for each case; none where the run has neither a price nor a carbon intensity.

    Parameters
    ----------
    run, analysis
        A record, and the analysis of it.
    """
    return tuple(_table(run, block) for block in money.summarise(run, analysis))


def lead(run: Run) -> str:
    """Say what the costs are computed from."""
    price, carbon = run.settings.price, run.settings.carbon_g_per_kwh
    parts = []
    if price is not None:
        parts.append(
            f"Cost is time times {units.price(price)} for the whole machine, however many of its cores an arm uses; "
            f"its interval is that of the time (95 % {IN_THESE_MINUTES})."
        )
    if carbon is not None:
        parts.append(
            f"Emissions are measured energy times {units.plain(carbon)} g of CO₂e a kWh. Energy is counted by the "
            "processor (RAPL) or the GPU (NVML) and is that of the whole device; nothing is estimated where no counter "
            "was read, and what else the machine draws is not in it."
        )
    return " ".join(parts)


def _table(run: Run, block: CostBlock) -> CostTable:
    settings = run.settings
    per = "a million items" if block.target is None else "a training"
    headings: list[str] = []
    if settings.price is not None:
        headings.append(f"{settings.price.currency or 'Cost'} {per}")
    if settings.carbon_g_per_kwh is not None:
        headings.append(f"g CO₂e {per}")
    lines = tuple(Line(row.arm, row.backend, tuple(map(_cell, _columns(run, row).values()))) for row in block.rows)
    return CostTable(block.case, _title(block), tuple(headings), lines, _notes(run, block))


def _title(block: CostBlock) -> str:
    case = block.case
    if block.target is not None:
        what = f"{names.network(case)}, training to {units.accuracy(block.target)}, batch {case.batch}"
    else:
        what = sentences.title(case)
    about = [case.precision, units.plural(case.threads, "thread"), case.device]
    about += [units.plural(case.processes, "process", "processes")] if case.processes > 1 else []
    return f"{what}, {', '.join(about)}"


def _columns(run: Run, row: CostRow) -> dict[str, Estimate | Absent]:
    """Return what is shown of an arm, by what it is."""
    settings = run.settings
    cost = {} if settings.price is None else {"cost": row.cost}
    return cost if settings.carbon_g_per_kwh is None else {**cost, "emissions": row.carbon_g}


def _cell(value: Estimate | Absent) -> tuple[str, str]:
    return (units.NO_VALUE, "") if isinstance(value, Absent) else units.spread(value, _ONE)


def _notes(run: Run, block: CostBlock) -> tuple[str, ...]:
    """Say why there are no numbers, and what energy was read of."""
    arms: dict[tuple[str, str], list[str]] = {}
    for row in block.rows:
        for what, value in _columns(run, row).items():
            if isinstance(value, Absent):
                arms.setdefault((what, value.reason), []).append(row.arm)
    notes = [
        f"No {what}{'' if len(of) == len(block.rows) else f' of {sentences.join(of)}'}: {reason}."
        for (what, reason), of in arms.items()
    ]
    if block.counters and run.settings.carbon_g_per_kwh is not None:
        notes.append(f"Energy is that of {sentences.join(block.counters)}.")
    return tuple(notes)
