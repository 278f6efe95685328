"""A comparison for a pull request: Markdown as GitHub and GitLab read it, in which a record's text is only text."""

from collections.abc import Iterable, Iterator, Sequence

from levelfield.compare import phrases
from levelfield.compare.types import Comparison, Row
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
    yield from (f"**{text(phrases.first_line(comparison))}**", "")
    yield from (f"Old: {code(comparison.old.label)} · new: {code(comparison.new.label)}", "")
    yield from (*(f"- {text(note)}" for note in comparison.notes), "")
    if comparison.settings:
        found = map(phrases.setting_cells, comparison.settings)
        rows = [(text(where), text(name), code(old), code(new), text(note)) for where, name, old, new, note in found]
        yield from ("What else changed:", "", *table((*phrases.FACTS, ""), rows[:MOST_ROWS]), "")
    shared = phrases.shared(comparison.rows)
    if shared:
        yield from (text(f"All cases: {shared}."), "")
    other = [row for row in comparison.rows if row.outcome != "fine"]
    fine = [row for row in comparison.rows if row.outcome == "fine"]
    yield from _cases(other, comparison.replicate, brief=bool(shared))
    if fine:
        count = plural(len(fine), "case")
        lines = _cases(fine, comparison.replicate, brief=bool(shared))
        yield from _folded(f"{count} not worse" if other else f"All {count}", lines)
    if moved := comparison.moved:
        answers = [
            (_SIGNS[each.outcome], *map(text, (phrases.answer_of(each), each.movement, phrases.drifted(each))))
            for each in moved[:MOST_ROWS]
        ]
        title = f"{len(moved)} of {len(comparison.drifts)} answers are not identical"
        yield from _folded(title, (*table(("", "arm and model", "movement", ""), answers), ""))
    if missing := phrases.unrecorded(comparison.changes):
        yield from (text(missing), "")
    if comparison.changed:
        facts = [phrases.change_cells(title, change) for title, change in comparison.changed]
        changed = [(text(where), text(what), code(old), code(new)) for where, what, old, new in facts]
        yield from _folded(f"What changed: {len(facts)} facts", _table(phrases.FACTS, changed))
    yield text(comparison.method)


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"<details><summary>{title}</summary>", "", *lines, "</details>", "")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, what: str = "more") -> Iterator[str]:
    yield from (*table(headings, rows[:MOST_ROWS]), "")
    if len(rows) > MOST_ROWS:
        yield from (f"{len(rows) - MOST_ROWS} {what} are left out here; `--format html` shows them.", "")


def _cases(rows: Sequence[Row], replicate: str, *, brief: bool) -> Iterator[str]:
    if not rows:
        return
    drifts = any(row.drift is not None for row in rows)

    def cells(row: Row) -> tuple[str, ...]:
        who, *rest, verdict, note = phrases.row_cells(row, replicate, brief=brief)
        plain = (*rest, *([phrases.drift(row)] if drifts else []), verdict, note)
        return _SIGNS[row.outcome], code(who), *map(text, plain)

    yield from _table(("", *phrases.headings(drifts=drifts)), [cells(row) for row in rows], what="more rows")
