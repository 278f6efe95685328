"""A comparison for a pull request: Markdown as GitHub and GitLab read it, in which a record's text is only text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from levelfield.compare import phrases, tables
from levelfield.compare.types import Comparison, Row
from levelfield.report.tables import Table, in_markdown, make
from levelfield.report.units import plural
from levelfield.terminals import markdown_code as code
from levelfield.terminals import markdown_text as text

MOST_ROWS = 200
"""Rows of a table: a comment has 65,536 characters at most."""


def write(comparison: Comparison) -> str:
    """Return the comparison as Markdown, the answer first."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield from (f"**{text(phrases.first_line(comparison))}**", "")
    yield from (f"Old: {code(comparison.old.label)} · new: {code(comparison.new.label)}", "")
    yield from (*(f"- {text(note)}" for note in comparison.notes), "")
    if comparison.settings:
        yield from ("What else changed:", "", *_table(make("", tables.SETTINGS, comparison.settings)))
    shared = phrases.shared(comparison.rows)
    if shared:
        yield from (text(f"All cases: {shared}."), "")

    def cases(rows: Sequence[Row]) -> Iterator[str]:
        return _table(make("", tables.CASES, tables.judged(rows, comparison.replicate, brief=bool(shared))))

    other = [row for row in comparison.rows if row.outcome != "fine"]
    fine = [row for row in comparison.rows if row.outcome == "fine"]
    if other:
        yield from cases(other)
    if fine:
        count = plural(len(fine), "case")
        yield from _folded(f"{count} not worse" if other else f"All {count}", cases(fine))
    if moved := comparison.moved:
        title = f"{len(moved)} of {len(comparison.drifts)} answers are not identical"
        yield from _folded(title, _table(make("", tables.ANSWERS, moved)))
    if missing := phrases.unrecorded(comparison.changes):
        yield from (text(missing), "")
    if changed := comparison.changed:
        yield from _folded(f"What changed: {len(changed)} facts", _table(make("", tables.FACTS, changed)))
    yield text(comparison.method)


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"<details><summary>{title}</summary>", "", *lines, "</details>", "")


def _table(found: Table) -> Iterator[str]:
    yield from (*in_markdown(replace(found, lines=found.lines[:MOST_ROWS]), narrow=False), "")
    if (left := len(found.lines) - MOST_ROWS) > 0:
        yield from (f"{left} more rows are left out here; the page shows them.", "")
