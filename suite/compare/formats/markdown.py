"""A comparison for a pull request: Markdown as GitHub and GitLab read it, in which a record's text is only text."""

from collections.abc import Iterator, Sequence

from suite.compare import phrases
from suite.compare.types import Comparison, Row, Setting
from suite.report.markdown import table
from suite.safety.markdown import code, text

MOST_ROWS = 200
"""Rows of a table: a comment has 65,536 characters at most."""
_SIGNS = {"worse": "❌", "undecided": "❔", "aside": "➖", "fine": "✅"}


def write(comparison: Comparison) -> str:
    """Return the comparison as Markdown, the answer first."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"**{text(phrases.first_line(comparison))}**"
    yield ""
    yield f"Old: {code(comparison.old.label)} · new: {code(comparison.new.label)}"
    yield ""
    yield from (f"- {text(note)}" for note in comparison.notes)
    yield ""
    yield from _settings(comparison.settings)
    other = [row for row in comparison.rows if row.outcome != "fine"]
    fine = [row for row in comparison.rows if row.outcome == "fine"]
    shared = phrases.shared(comparison.rows)
    if shared:
        yield text(f"All cases: {shared}.")
        yield ""
    yield from _cases(other, comparison.replicate, brief=bool(shared))
    if fine:
        yield from _folded(f"{len(fine)} cases that are not worse" if other else f"All {len(fine)} cases")
        yield from _cases(fine, comparison.replicate, brief=bool(shared))
        yield "</details>"
        yield ""
    if comparison.crossed:
        yield text(f"{phrases.CROSSED}. {phrases.CROSSED_CAPTION}")
        yield ""
        yield from _cases(comparison.crossed, comparison.replicate, brief=bool(shared))
    yield from _answers(comparison)
    yield from _changes(comparison)
    yield text(comparison.method)


def _settings(settings: Sequence[Setting]) -> Iterator[str]:
    if not settings:
        return
    yield "What else changed:"
    yield ""
    yield from table(
        ("where", "what", "old", "new", ""),
        (
            (text(where), text(name), code(old), code(new), text(note))
            for where, name, old, new, note in map(phrases.setting_cells, settings[:MOST_ROWS])
        ),
    )
    yield ""


def _cases(rows: Sequence[Row], replicate: str, *, brief: bool) -> Iterator[str]:
    if not rows:
        return
    cells = [(row.outcome, *phrases.row_cells(row, replicate, brief=brief)) for row in rows[:MOST_ROWS]]
    yield from table(
        ("", "arm", "case", "old:", "new:", "new/old:", "verdict", ""),
        ((_SIGNS[outcome], code(arms), *map(text, rest)) for outcome, arms, *rest in cells),
    )
    yield ""
    if len(rows) > MOST_ROWS:
        yield f"{len(rows) - MOST_ROWS} more rows are left out here; `--format html` shows them."
        yield ""


def _answers(comparison: Comparison) -> Iterator[str]:
    if not comparison.moved:
        return
    yield from _folded(f"{len(comparison.moved)} of {len(comparison.drifts)} answers are not identical")
    cells = [
        (drift.outcome, phrases.answer_of(drift), drift.movement.value, phrases.drifted(drift))
        for drift in comparison.moved[:MOST_ROWS]
    ]
    yield from table(
        ("", "arm and model", "movement", ""), ((_SIGNS[outcome], *map(text, rest)) for outcome, *rest in cells)
    )
    yield ""
    yield "</details>"
    yield ""


def _changes(comparison: Comparison) -> Iterator[str]:
    missing = phrases.unrecorded(comparison.changes)
    if missing:
        yield text(missing)
        yield ""
    if not comparison.changed:
        return
    yield from _folded(f"What changed: {len(comparison.changed)} facts")
    cells = [phrases.change_cells(title, change) for title, change in comparison.changed[:MOST_ROWS]]
    yield from table(
        ("where", "what", "old", "new"),
        ((text(where), text(what), code(old), code(new)) for where, what, old, new in cells),
    )
    yield ""
    if len(comparison.changed) > MOST_ROWS:
        yield f"{len(comparison.changed) - MOST_ROWS} more are left out here; `--format html` shows them."
        yield ""
    yield "</details>"
    yield ""


def _folded(title: str) -> tuple[str, ...]:
    return f"<details><summary>{title}</summary>", ""
