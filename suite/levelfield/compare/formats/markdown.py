"""A comparison for a pull request: Markdown as GitHub and GitLab read it, in which a record's text is only text."""

from collections.abc import Iterator, Sequence

from levelfield.compare import phrases
from levelfield.compare.types import Comparison, Row, Setting
from levelfield.report.markdown import table
from levelfield.report.units import plural
from levelfield.terminals import markdown_code as code
from levelfield.terminals import markdown_text as text

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
    shared = phrases.shared(comparison.rows)
    if shared:
        yield text(f"All cases: {shared}.")
        yield ""
    yield from _worse_first(comparison.rows, "case", comparison.replicate, brief=bool(shared))
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


def _worse_first(rows: Sequence[Row], what: str, replicate: str, *, brief: bool = False) -> Iterator[str]:
    """Yield a table of what is not fine, and one of the rest, which is folded away."""
    other = [row for row in rows if row.outcome != "fine"]
    fine = [row for row in rows if row.outcome == "fine"]
    yield from _cases(other, replicate, brief=brief)
    if fine:
        count = plural(len(fine), what)
        yield from _folded(f"{count} not worse" if other else f"All {count}")
        yield from _cases(fine, replicate, brief=brief)
        yield "</details>"
        yield ""


def _cases(rows: Sequence[Row], replicate: str, *, brief: bool) -> Iterator[str]:
    if not rows:
        return
    drifts = any(row.drift is not None for row in rows)

    def cells(row: Row) -> tuple[str, ...]:
        who, *rest, verdict, note = phrases.row_cells(row, replicate, brief=brief)
        plain = (*rest, *([phrases.drift(row)] if drifts else []), verdict, note)
        return _SIGNS[row.outcome], code(who), *map(text, plain)

    columns = (
        "",
        *phrases.HEADINGS[:2],
        "old:",
        "new:",
        f"{phrases.HEADINGS[2]}:",
        *(["after/before:"] if drifts else []),
        "verdict",
        "",
    )
    yield from table(columns, map(cells, rows[:MOST_ROWS]))
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
