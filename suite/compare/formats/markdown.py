"""A comparison for a pull request: Markdown as GitHub and GitLab read it, in which a record's text is only text."""

from collections.abc import Iterator, Sequence

from suite.compare import phrases
from suite.compare.types import Comparison, Row
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
    loud = [row for row in comparison.rows if row.outcome != "fine"]
    calm = [row for row in comparison.rows if row.outcome == "fine"]
    shared = phrases.shared(comparison.rows)
    if shared:
        yield text(f"All cases: {shared}.")
        yield ""
    yield from _cases(loud, comparison.replicate, brief=bool(shared))
    if calm:
        yield from _folded(f"{len(calm)} cases that are not worse" if loud else f"All {len(calm)} cases")
        yield from _cases(calm, comparison.replicate, brief=bool(shared))
        yield "</details>"
        yield ""
    yield from _answers(comparison)
    yield from _changes(comparison)
    yield text(comparison.method)


def _cases(rows: Sequence[Row], replicate: str, *, brief: bool) -> Iterator[str]:
    if not rows:
        return
    yield from _table(("", "arm", "case", "old", "new", "new/old", "verdict", ""), "lllrrrll")
    for row in rows[:MOST_ROWS]:
        arms, *cells = phrases.row_cells(row, replicate, brief=brief)
        yield _line((_SIGNS[row.outcome], code(arms), *map(text, cells)))
    yield ""
    if len(rows) > MOST_ROWS:
        yield f"{len(rows) - MOST_ROWS} more rows are left out here; `--format html` shows them."
        yield ""


def _answers(comparison: Comparison) -> Iterator[str]:
    if not comparison.moved:
        return
    yield from _folded(f"{len(comparison.moved)} of {len(comparison.drifts)} answers are not identical")
    yield from _table(("", "arm and model", "movement", ""), "llll")
    for drift in comparison.moved[:MOST_ROWS]:
        cells = (phrases.answer_of(drift), drift.movement.value, phrases.drifted(drift))
        yield _line((_SIGNS[drift.outcome], *map(text, cells)))
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
    yield from _table(("where", "what", "old", "new"), "llll")
    for title, change in comparison.changed[:MOST_ROWS]:
        *names, old, new = phrases.change_cells(title, change)
        yield _line((*map(text, names), code(old), code(new)))
    yield ""
    if len(comparison.changed) > MOST_ROWS:
        yield f"{len(comparison.changed) - MOST_ROWS} more are left out here; `--format html` shows them."
        yield ""
    yield "</details>"
    yield ""


def _folded(title: str) -> tuple[str, ...]:
    return f"<details><summary>{title}</summary>", ""


def _table(headings: Sequence[str], aligned: str) -> tuple[str, str]:
    rule = {"l": "---", "r": "---:"}
    return _line(headings), f"|{'|'.join(rule[side] for side in aligned)}|"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
