"""Tables of a comparison and their columns, for every format: a new column is one entry here."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from levelfield.analysis.summary import RunFacts
from levelfield.compare import phrases
from levelfield.compare.types import Change, Drift, Row, Setting
from levelfield.report import units
from levelfield.report.pages import moment
from levelfield.report.tables import Cell, Column

_SIGNS = {"worse": "❌", "undecided": "❔", "aside": "➖", "fine": "✅"}


@dataclass(frozen=True)
class Judged:
    """A row of a comparison, and how it is shown."""

    row: Row
    note: str
    brief: bool
    """What all rows share is left out."""


CASES: tuple[Column[Judged], ...] = (
    Column("", lambda it: _SIGNS[it.row.outcome], only="markdown", numeric=False),
    Column("Arm", lambda it: phrases.arms(it.row), numeric=False, code=True),
    Column("Case", lambda it: phrases.case(it.row, brief=it.brief), numeric=False),
    Column("Old", lambda it: phrases.cost(it.row.old, it.row.metric), wide=True),
    Column("New", lambda it: phrases.cost(it.row.new, it.row.metric), wide=True),
    Column("New/old", lambda it: phrases.ratio(it.row.ratio)),
    Column(
        "After/before",
        lambda it: phrases.ratio(it.row.drift),
        where=lambda rows: any(it.row.drift is not None for it in rows),
        wide=True,
    ),
    Column("Verdict", lambda it: Cell(it.row.verdict, why=it.note, tone=it.row.outcome), numeric=False, whole=True),
    Column(
        "",
        lambda it: Cell(it.note, tone="note"),
        where=lambda rows: any(it.note for it in rows),
        numeric=False,
        only="text",
    ),
    Column("Confidence", lambda it: phrases.confidence(it.row) or units.NO_VALUE, only="page"),
)


def _meant(found: Setting) -> Cell:
    if found.meant == "upgrade":
        return Cell(phrases.setting_note(found))
    return Cell(found.meant, why=phrases.clean(found.reason), tone="worse" if found.meant == "not meant" else "aside")


SETTINGS: tuple[Column[Setting], ...] = (
    Column("Where", lambda it: phrases.clean(it.where), numeric=False),
    Column("What", lambda it: phrases.clean(it.name), numeric=False),
    Column("Old", lambda it: phrases.value(it.old), numeric=False, code=True),
    Column("New", lambda it: phrases.value(it.new), numeric=False, code=True),
    Column("Meant", _meant, numeric=False, only="page"),
    Column(
        "",
        lambda it: Cell(phrases.setting_note(it), tone="undecided" if it.meant == "not meant" else "note"),
        numeric=False,
        only="text",
    ),
)
ANSWERS: tuple[Column[Drift], ...] = (
    Column("", lambda it: _SIGNS[it.outcome], only="markdown", numeric=False),
    Column("Arm and model", phrases.answer_of, numeric=False),
    Column("Movement", lambda it: Cell(it.movement, why=phrases.drifted(it), tone=it.outcome), numeric=False),
    Column("", lambda it: Cell(phrases.drifted(it), tone="note"), numeric=False, only="text"),
    Column("Error before", lambda it: phrases.error(it.old_error), only="page"),
    Column("Error now", lambda it: phrases.error(it.new_error), only="page"),
)
FACTS: tuple[Column[tuple[str, Change]], ...] = (
    Column("Where", lambda it: phrases.clean(it[0]), numeric=False, only="text"),
    Column(
        "What",
        lambda it: Cell(phrases.clean(it[1].name), mark="differs within a side" if it[1].state == "varies" else ""),
        numeric=False,
    ),
    Column("Old", lambda it: phrases.values(it[1])[0], numeric=False, code=True),
    Column("New", lambda it: phrases.values(it[1])[1], numeric=False, code=True),
)
"""Of facts of the environment, each with the title of its group."""
SAME = (FACTS[1], replace(FACTS[2], heading="Both sides"))
RUNS: tuple[Column[tuple[str, RunFacts]], ...] = (
    Column("Run", lambda it: phrases.clean(it[1].id), numeric=False),
    Column("Side", lambda it: it[0], numeric=False),
    Column("Begun", lambda it: phrases.clean(moment(it[1].started), 60), numeric=False),
    Column("SHA-256", lambda it: Cell(phrases.clean(it[1].sha256), tone="code"), numeric=False),
)


def judged(rows: Iterable[Row], replicate: str, *, brief: bool = False) -> list[Judged]:
    """Return rows with their notes, to be shown in the columns of `CASES`."""
    return [Judged(row, phrases.note(row, replicate), brief) for row in rows]
