"""How far an upgrade is, in the terminal."""

from collections.abc import Iterator
from pathlib import Path

from suite.report.units import plural
from suite.upgrade import progress, records
from suite.upgrade.progress import State


def lines(state: State, reports: Path) -> Iterator[str]:
    """Yield the lines that show an upgrade: its phases, its runs, and what comes next in the last one.

    Parameters
    ----------
    state, reports
        The upgrade, and the folder of run folders.
    """
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
