"""Tables of what times cost, for the page and the terminal."""

import msgspec

from levelfield.analysis import money
from levelfield.analysis.money import CostBlock
from levelfield.analysis.types import Analysis, Estimate
from levelfield.record.schema import Absent, Case, Run
from levelfield.report import names, sentences, units
from levelfield.report.separation import IN_THESE_MINUTES

TITLE = "Cost"
_ONE = units.Scale("", 1.0)


class Line(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    value: str
    bounds: str


class CostTable(msgspec.Struct, frozen=True):
    """One case."""

    case: Case
    title: str
    heading: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    """Why there are no numbers, each reason once."""


def tables(run: Run, analysis: Analysis) -> tuple[CostTable, ...]:
    """Return a table for each case; none where the run has no price."""
    return tuple(_table(run, block) for block in money.summarise(run, analysis))


def lead(run: Run) -> str:
    """Say what the costs are computed from; empty where no price was given."""
    price = run.settings.price
    if price is None:
        return ""
    return (
        f"Cost is time times {units.price(price)} for the whole machine, however many of its cores an arm uses; "
        f"its interval is that of the time (95 % {IN_THESE_MINUTES})."
    )


def _table(run: Run, block: CostBlock) -> CostTable:
    price = run.settings.price
    currency = price.currency if price is not None else ""
    heading = f"{currency or 'Cost'} {'a million items' if block.target is None else 'a training'}"
    lines = tuple(Line(row.arm, row.backend, *_cell(row.cost)) for row in block.rows)
    return CostTable(block.case, _title(block), heading, lines, _notes(block))


def _title(block: CostBlock) -> str:
    case = block.case
    if block.target is not None:
        what = f"{names.network(case)}, training to {units.accuracy(block.target)}, batch {case.batch}"
    else:
        what = sentences.title(case)
    about = [case.precision, units.plural(case.threads, "thread"), case.device]
    about += [units.plural(case.processes, "process", "processes")] if case.processes > 1 else []
    return f"{what}, {', '.join(about)}"


def _cell(value: Estimate | Absent) -> tuple[str, str]:
    return (units.NO_VALUE, "") if isinstance(value, Absent) else units.spread(value, _ONE)


def _notes(block: CostBlock) -> tuple[str, ...]:
    """Say why there are no numbers."""
    arms: dict[str, list[str]] = {}
    for row in block.rows:
        if isinstance(row.cost, Absent):
            arms.setdefault(row.cost.reason, []).append(row.arm)
    return tuple(
        f"No cost{'' if len(of) == len(block.rows) else f' of {sentences.join(of)}'}: {reason}."
        for reason, of in arms.items()
    )
