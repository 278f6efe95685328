"""Tables of what times cost, for the page and the terminal."""

from levelfield.analysis import Analysis
from levelfield.analysis.money import CostBlock, CostRow
from levelfield.record.schema import Absent, Run
from levelfield.report import names, sentences, units
from levelfield.report.separation import IN_THESE_MINUTES
from levelfield.report.tables import ARM, Column, Table, make

TITLE = "Cost"


def tables(run: Run, analysis: Analysis) -> tuple[Table, ...]:
    """Return a table for each case; none where the run has no price."""
    return tuple(_table(run, block) for block in analysis.costs)


def lead(run: Run) -> str:
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
    """Say why there are no numbers."""
    arms: dict[str, list[str]] = {}
    for row in block.rows:
        if isinstance(row.cost, Absent):
            arms.setdefault(row.cost.reason, []).append(row.arm)
    return tuple(
        f"No cost{'' if len(of) == len(block.rows) else f' of {sentences.join(of)}'}: {reason}."
        for reason, of in arms.items()
    )
