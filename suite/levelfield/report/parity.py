"""The tables of errors against the reference: arms by models, and arms by models that are trained."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

import msgspec

from levelfield.analysis.types import Analysis, ArmRow
from levelfield.record.schema import Parity

_Key = TypeVar("_Key", bound=Hashable)


class ParityLine(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    parities: tuple[Parity | None, ...]


class ParityTable(msgspec.Struct, frozen=True):
    columns: tuple[tuple[str, str], ...]
    """Question (`Case.question`) and precision."""
    lines: tuple[ParityLine, ...]
    tolerances: tuple[float | None, ...]


class TrainingTable(msgspec.Struct, frozen=True):
    """One model's training, arm by arm."""

    model: str
    precision: str
    processes: int
    """That trained together."""
    rows: tuple[ArmRow, ...]
    """Each with a parity of its training."""


def table(analysis: Analysis) -> ParityTable:
    """Return a table of every arm's parity by model and precision; single operators have one of their own."""
    rows = [
        ((block.case.question, block.case.precision), row)
        for block in analysis.blocks
        if not (block.case.trains or block.case.converges or block.case.definition.operators)
        for row in block.rows
    ]
    columns = tuple(dict.fromkeys(column for column, _ in rows))
    arms = {row.arm: row.backend for _, row in reversed(rows)}
    found = _decisive(((column, row.arm), row) for column, row in rows)
    return ParityTable(
        columns=columns,
        lines=tuple(
            ParityLine(arm, backend, tuple(_parity(found.get((column, arm))) for column in columns))
            for arm, backend in sorted(arms.items())
        ),
        tolerances=tuple(
            next((row.parity.tolerance for (of, _), row in found.items() if of == column and row.parity), None)
            for column in columns
        ),
    )


def trainings(analysis: Analysis) -> tuple[TrainingTable, ...]:
    """Return each arm's distance of training from the reference, by model and precision.

    Empty where nothing was trained. A training in several processes has a table of its own.
    """
    found = _decisive(
        ((block.case.model, block.case.precision, block.case.processes, row.arm), row)
        for block in analysis.timed
        if block.case.trains
        for row in block.rows
        if row.parity is not None and row.parity.training is not None
    )
    tables: dict[tuple[str, str, int], list[ArmRow]] = {}
    for (model, precision, processes, _), row in found.items():
        tables.setdefault((model, precision, processes), []).append(row)
    return tuple(TrainingTable(*key, tuple(rows)) for key, rows in tables.items())


def _decisive(rows: Iterable[tuple[_Key, ArmRow]]) -> dict[_Key, ArmRow]:
    """Return by key the first row that was compared, or a later one that is not equal."""
    found: dict[_Key, ArmRow] = {}
    for key, row in rows:
        known = _parity(found.get(key))
        if row.parity is not None and (known is None or (known.equal and not row.parity.equal)):
            found[key] = row
    return found


def _parity(row: ArmRow | None) -> Parity | None:
    return row.parity if row is not None else None
