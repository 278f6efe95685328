"""A comparison for a pull request: Markdown as GitHub and GitLab read it, in which a record's text is only text."""

from collections.abc import Iterable, Iterator, Sequence

from suite.compare import phrases
from suite.compare.types import ChangeGroup, Comparison, Movement, Row
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
    yield from _changes(comparison.changes)
    yield text(comparison.method)


def _cases(rows: Sequence[Row], replicate: str, *, brief: bool) -> Iterator[str]:
    if not rows:
        return
    yield from _table(("", "arm", "case", "old", "new", "new/old", "verdict", ""), "lllrrrll")
    for row in rows[:MOST_ROWS]:
        cells = (
            _SIGNS[row.outcome],
            code(phrases.arms(row)),
            text(phrases.case(row, brief=brief)),
            text(phrases.cost(row.old, row.metric)),
            text(phrases.cost(row.new, row.metric)),
            text(phrases.ratio(row)),
            text(row.verdict.value),
            text(phrases.note(row, replicate)),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    if len(rows) > MOST_ROWS:
        yield f"{len(rows) - MOST_ROWS} more rows are left out here; `--format html` shows them."
        yield ""


def _answers(comparison: Comparison) -> Iterator[str]:
    moved = [drift for drift in comparison.drifts if drift.movement is not Movement.IDENTICAL]
    if not moved:
        return
    yield from _folded(f"{len(moved)} of {len(comparison.drifts)} answers are not identical")
    yield from _table(("", "arm and model", "movement", ""), "llll")
    for drift in moved[:MOST_ROWS]:
        cells = (
            _SIGNS[drift.outcome],
            text(phrases.answer_of(drift)),
            text(drift.movement.value),
            text(phrases.drifted(drift)),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "</details>"
    yield ""


def _changes(groups: Iterable[ChangeGroup]) -> Iterator[str]:
    groups = tuple(groups)
    missing = phrases.unrecorded(groups)
    if missing:
        yield text(missing)
        yield ""
    changed = [(group.title, change) for group in groups for change in group.changed]
    if not changed:
        return
    yield from _folded(f"What changed: {len(changed)} facts")
    yield from _table(("where", "what", "old", "new"), "llll")
    for title, change in changed[:MOST_ROWS]:
        cells = (
            text(title),
            text(change.name + (" (differs within a side)" if change.state == "varies" else "")),
            code(phrases.value(change.old)),
            code(phrases.value(change.new)),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    if len(changed) > MOST_ROWS:
        yield f"{len(changed) - MOST_ROWS} more are left out here; `--format html` shows them."
        yield ""
    yield "</details>"
    yield ""


def _folded(title: str) -> tuple[str, ...]:
    return f"<details><summary>{title}</summary>", ""


def _table(headings: Sequence[str], aligned: str) -> tuple[str, str]:
    rule = {"l": "---", "r": "---:"}
    return f"| {' | '.join(headings)} |", f"|{'|'.join(rule[side] for side in aligned)}|"
