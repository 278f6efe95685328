"""How far an upgrade is, in the terminal."""

from collections.abc import Iterator
from pathlib import Path

from levelfield.analysis.status import SMOKE
from levelfield.report.units import duration, percent, plural
from levelfield.statistics.bracket import smallest_slowdown
from levelfield.upgrade import progress, records
from levelfield.upgrade.events import LAUNCHES, Begun
from levelfield.upgrade.progress import State

SPREADS = 0.005, 0.01
"""Between runs of ten launches that scatter by 1.6 and by 3.2 %; calm ones of a published default run: 2.4 to 5.5 %."""


def promise(begun: Begun) -> Iterator[str]:
    """Yield what every run measures, and how small a slowdown its verdicts can find; of a smoke run nothing."""
    if begun.selections[0].profile == SMOKE:
        return
    budget = begun.how.budget_seconds
    aims, within = ("aims at", f" within {duration(budget)}") if budget is not None else ("has", "")
    control = "" if begun.selections[0].control != "none" else ", and no control: the old side is compared with itself"
    yield f"Every {begun.replicate} {aims} {LAUNCHES} launches of each arm or more{within}{control}."
    smallest = (
        percent(
            smallest_slowdown(
                begun.boots,
                spread,
                cases=len(begun.plans[0].results),
                way_back=not begun.one_way,
                margin=begun.how.margin,
            )
        )
        for spread in SPREADS
    )
    found = " and ".join(
        f"of {each} where {begun.replicate}s scatter by {percent(spread)}"
        for each, spread in zip(smallest, SPREADS, strict=True)
    )
    yield f"{plural(begun.boots, begun.replicate)} a phase find, four times in five, a slowdown {found}."


def lines(state: State, reports: Path) -> Iterator[str]:
    """Yield the lines that show an upgrade: its phases, its runs, and what comes next in the last one."""
    begun = state.begun
    design = "old, new" if begun.one_way else "old, new, old"
    yield f"{begun.name}: {design}, {plural(begun.boots, begun.replicate)} each; begun {begun.at}"
    for phase in state.phases:
        measured = state.of_phase(phase)
        yield f"  {phase}: {len(measured)} of {begun.boots}"
        for boot in measured:
            gone = "" if records.path(boot, reports).is_file() else "  (its record is gone)"
            yield f"    {boot.begun.run}{gone}"
    for run in (*state.left, *([state.pending] if state.pending is not None else [])):
        how = "cut off, resumed by `next` in the same boot" if run is state.pending else "cut off, does not count"
        yield f"  {run.run}: {how}"
    yield progress.advice(state)
