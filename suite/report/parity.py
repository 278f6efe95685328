"""The tables of errors against the reference: arms by models, and arms by models that are trained."""

import msgspec

from suite.analysis.types import Analysis
from suite.record.schema import Parity, TrainingParity


class ParityLine(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    parities: tuple[Parity | None, ...]


class ParityTable(msgspec.Struct, frozen=True):
    columns: tuple[tuple[str, str], ...]
    """Model and precision."""
    lines: tuple[ParityLine, ...]
    tolerances: tuple[float | None, ...]


def table(analysis: Analysis) -> ParityTable:
    """Return a table of every arm's parity by model and precision."""
    columns: dict[tuple[str, str], None] = {}
    backends: dict[str, str] = {}
    found: dict[tuple[str, tuple[str, str]], Parity] = {}
    for block in analysis.blocks:
        if block.case.trains or block.case.converges:
            continue
        column = (block.case.model, block.case.precision)
        columns[column] = None
        for row in block.rows:
            backends.setdefault(row.arm, row.backend)
            if row.parity is not None:
                # The first scenario that compared speaks, unless a later one found it not equal.
                known = found.get((row.arm, column))
                if known is None or (known.equal and not row.parity.equal):
                    found[row.arm, column] = row.parity
    return ParityTable(
        columns=tuple(columns),
        lines=tuple(
            ParityLine(arm=arm, backend=backend, parities=tuple(found.get((arm, column)) for column in columns))
            for arm, backend in sorted(backends.items())
        ),
        tolerances=tuple(
            next((parity.tolerance for (_, place), parity in found.items() if place == column), None)
            for column in columns
        ),
    )


class TrainingLine(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    equal: bool
    reason: str
    training: TrainingParity


class TrainingTable(msgspec.Struct, frozen=True):
    """One model's training, arm by arm."""

    model: str
    processes: int
    """That trained together."""
    lines: tuple[TrainingLine, ...]


def trainings(analysis: Analysis) -> tuple[TrainingTable, ...]:
    """Return each arm's distance of training from the reference, model by model; empty where nothing was trained.

    A training in several processes has a table of its own.
    """
    found: dict[tuple[str, int], dict[str, TrainingLine]] = {}
    for block in analysis.timed:
        if not block.case.trains:
            continue
        lines = found.setdefault((block.case.model, block.case.processes), {})
        for row in block.rows:
            parity = row.parity
            if parity is None or parity.training is None:
                continue
            # The first batch size that compared speaks, unless a later one found it not equal.
            known = lines.get(row.arm)
            if known is None or (known.equal and not parity.equal):
                lines[row.arm] = TrainingLine(row.arm, row.backend, parity.equal, parity.reason, parity.training)
    return tuple(
        TrainingTable(model, processes, tuple(lines.values())) for (model, processes), lines in found.items() if lines
    )
