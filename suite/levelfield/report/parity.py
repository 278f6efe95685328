"""The tables of errors against the reference: arms by models, and arms by models that are trained."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from levelfield.analysis import Analysis
from levelfield.analysis.types import ArmRow
from levelfield.record.schema import Absent, Parity, Run, TrainingParity
from levelfield.report import names, tables, units
from levelfield.report.tables import ARM, Cell, Column, Line, Table

_Key = TypeVar("_Key", bound=Hashable)


class Trained(NamedTuple):
    """One arm's training, compared."""

    arm: str
    backend: str
    parity: Parity
    training: TrainingParity


@dataclass(frozen=True)
class Training:
    """One model's training, arm by arm."""

    errors: Table
    losses: Table


@dataclass(frozen=True)
class Shown:
    errors: Table | None
    """Arms by models; None: there are single operators alone."""
    trainings: tuple[Training, ...]
    operators: bool


def shown(run: Run, analysis: Analysis, *, operators: bool) -> Shown:
    """Return the tables of a run; `operators`: whether it has single operators, which have a table of their own."""
    found = table(run, analysis)
    return Shown(None if operators and len(found.columns) == 1 else found, trainings(analysis), operators)


def off_by(parity: Parity | None) -> Cell | None:
    """Return the cell of an error with its tolerance below it."""
    return None if parity is None else tables.error(parity.relative_error, units.error(parity.tolerance))


def table(run: Run, analysis: Analysis) -> Table:
    """Return a table of every arm's parity by model and precision; single operators have one of their own."""
    rows = [
        ((block.case.question, block.case.precision), row)
        for block in analysis.blocks
        if not (block.case.trains or block.case.converges or block.case.definition.operators)
        for row in block.rows
    ]
    asked = tuple(dict.fromkeys(question for question, _ in rows))
    arms = {row.arm: row for _, row in reversed(rows)}
    found = _decisive(((question, row.arm), row) for question, row in rows)

    def column(question: tuple[str, str]) -> Column[ArmRow]:
        return Column(
            lambda _: names.question(question[0]), lambda row: _cell(found.get((question, row.arm))), small=question[1]
        )

    def tolerance(question: tuple[str, str]) -> Cell:
        known = (row.parity for (of, _), row in found.items() if of == question and row.parity)
        first = next(known, None)
        return Cell(units.error(first.tolerance) if first is not None else units.NO_VALUE)

    reference = "the float64 reference"
    if run.settings.own is not None:
        reference = "one arm" if run.settings.own.function else "ONNX Runtime without its optimisations"
        if run.of_float64:
            reference = "the network in float64"
    arms_by_name = [arms[name] for name in sorted(arms)]
    return tables.make(
        f"Relative error against {reference}, ‖out − ref‖ ÷ ‖ref‖; below it the same after subtracting the mean over "
        "the inputs",
        (ARM, *map(column, asked)),
        arms_by_name,
        label="errors against the reference",
        look="compact",
        marks=lambda row: {"arm": row.arm, "backend": row.backend},
        foot=(Cell("Tolerance"), *map(tolerance, asked)) if asked else (),
        notes=tuple(
            f"{row.arm}, {names.question(question[0])}: {known.reason or known.doubt}"
            for row in arms_by_name
            for question in asked
            if (known := _parity(found.get((question, row.arm)))) is not None and (known.reason or known.doubt)
        ),
    )


def _cell(row: ArmRow | None) -> Cell:
    known = _parity(row)
    if known is None:
        return Cell("not compared", tone="muted")
    cell = tables.error(known.relative_error, tables.error(known.centred_error).text, equal=known.equal)
    return replace(cell, mark="not judged") if known.doubt else cell


def trainings(analysis: Analysis) -> tuple[Training, ...]:
    """Return each arm's distance of training from the reference, by model, precision and number of processes."""
    found = _decisive(
        ((block.case.model, block.case.precision, block.case.processes, row.arm), row)
        for block in analysis.timed
        if block.case.trains
        for row in block.rows
        if row.parity is not None and row.parity.training is not None
    )
    groups: dict[tuple[str, str, int], list[Trained]] = {}
    for (model, precision, processes, _), row in found.items():
        assert row.parity is not None
        assert row.parity.training is not None
        groups.setdefault((model, precision, processes), []).append(
            Trained(row.arm, row.backend, row.parity, row.parity.training)
        )
    return tuple(_training(*key, rows) for key, rows in groups.items())


def _training(model: str, precision: str, processes: int, rows: Sequence[Trained]) -> Training:
    first = rows[0].training
    where = f"{names.model(model)} in {precision}"
    together = f", in {units.plural(processes, 'process', 'processes')}" if processes > 1 else ""
    judged = (first.tolerances, *(row.training.errors for row in rows))
    statistics = any(not isinstance(each.statistics, Absent) for each in judged)
    known = [each for each in _TRAINED if each[0] != "statistics" or statistics]

    def column(name: str, heading: str) -> Column[Trained]:
        return Column(heading, lambda row: tables.error(getattr(row.training.errors, name)))

    def loss(number: int) -> Column[Trained]:
        return Column(
            str(number + 1),
            lambda row: f"{row.training.losses[number]:.7g}" if number < len(row.training.losses) else "",
        )

    arm: Column[Trained] = Column(
        "Arm", lambda it: Cell(it.arm, mark="" if it.parity.equal else "not equal", backend=it.backend), numeric=False
    )
    errors = tables.make(
        f"Training of {where}{together}, batch {first.batch}: relative errors against the float64 reference over its "
        f"first {len(first.reference)} steps",
        (arm, *(column(name, heading) for name, heading in known)),
        rows,
        label=f"training of {where}{together} against the reference",
        look="compact",
        foot=(Cell("Tolerance"), *(tables.error(getattr(first.tolerances, name)) for name, _ in known)),
        notes=tuple(f"{row.arm}: {row.parity.reason}" for row in rows if row.parity.reason),
    )
    losses = tables.make(
        f"Losses of {where}, each before its step",
        (ARM, *map(loss, range(len(first.reference)))),
        rows,
        label=f"losses of {where}",
        look="compact",
    )
    reference = Line((Cell("float64 reference"), *(Cell(f"{each:.7g}") for each in first.reference)))
    return Training(errors, replace(losses, lines=(reference, *losses.lines)))


_TRAINED = (
    ("update", "Update rule, given gradients"),
    ("losses", "Losses, largest"),
    ("gradients", "Gradient norms, first step"),
    ("weights", "Weights, after the last"),
    ("statistics", "Running statistics"),
)
"""Field of the errors, and its heading."""


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
