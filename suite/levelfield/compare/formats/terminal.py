"""A comparison in the terminal: the answer, what must be known, then case by case."""

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from rich.console import Console, RenderableType
from rich.text import Text

from levelfield import terminals
from levelfield.compare import phrases, tables
from levelfield.compare.types import Comparison, Verdict
from levelfield.report import units
from levelfield.report.tables import make, rendered, text

WIDE = 120
"""Columns from which the costs themselves stand beside their ratio; also the width of a text file."""
MOST_CHANGES = 40
MOST_OF_ARMS = 8
"""Of `ab`, whose arms may be two frameworks, with nothing in common."""
MOST_MISSING = 8
"""Rows of results that one side lacks; more are counted below the table, arm by arm."""
_ANSWER_STYLES = {0: "bold green", 1: "bold red", 3: "bold yellow"}


def show(comparison: Comparison, console: Console) -> None:
    """Print a comparison. Texts from records are printed as they are, never as rich's markup."""
    answer = text(phrases.first_line(comparison), _ANSWER_STYLES.get(comparison.exit_code, "bold"))
    console.print(answer, soft_wrap=True)  # one line, so that `head -1` shows all of it
    terminals.show(console, _parts(comparison, wide=console.width >= WIDE))


def plain(comparison: Comparison) -> str:
    """Return what a terminal would show, without colours."""
    stream = io.StringIO()
    show(
        comparison,
        Console(
            file=stream, width=WIDE + 60, color_system=None, force_terminal=False, legacy_windows=False, emoji=False
        ),
    )
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _parts(comparison: Comparison, *, wide: bool) -> Iterator[RenderableType]:
    yield text(f"old: {phrases.clean(comparison.old.label)}   new: {phrases.clean(comparison.new.label)}", "dim")
    for note in comparison.notes:
        yield text(phrases.clean(note, 1000))
    yield Text()
    if comparison.settings:
        yield rendered(make("What else changed", tables.SETTINGS, comparison.settings[:MOST_CHANGES]))
    yield from _cases(comparison, narrow=not wide)
    if comparison.moved:
        yield rendered(make("Answers that are not identical", tables.ANSWERS, comparison.moved))
    if missing := phrases.unrecorded(comparison.changes):
        yield text(missing, "dim")
    most = MOST_OF_ARMS if comparison.kind == "ab" else MOST_CHANGES
    if comparison.changed:
        yield rendered(make("What changed", tables.FACTS, comparison.changed[:most]))
    if (rest := len(comparison.changed) - most) > 0:
        where = "" if comparison.kind == "reproduce" else ": --output FILE.html shows them, and what stayed the same"
        yield text(f"{rest} more changes{where}.", "dim")
    yield text(phrases.clean(comparison.method, 1000), "dim")


def _cases(comparison: Comparison, *, narrow: bool) -> Iterator[RenderableType]:
    """Yield the table of cases; a note that all have stands in its title, others as footnotes where it is narrow."""
    missing = [row for row in comparison.rows if row.verdict is Verdict.MISSING]
    rows = comparison.rows
    if MOST_MISSING < len(missing) < len(rows):
        rows = tuple(row for row in rows if row.verdict is not Verdict.MISSING)
    shared = phrases.shared(rows)
    judged = tables.judged(rows, comparison.replicate, brief=bool(shared))
    notes = list(dict.fromkeys(each.note for each in judged))
    common = notes[0] if len(rows) > 1 and len(notes) == 1 else ""
    marks = {note: f"[{number}]" for number, note in enumerate(filter(None, notes), start=1)}
    if common or narrow:
        judged = [replace(each, note="" if common else marks.get(each.note, "")) for each in judged]
    title = f"Case by case{f' ({shared})' if shared else ''}{f': {common}' if common else ''}"
    yield rendered(make(title, tables.CASES, judged), narrow=narrow)
    if narrow and not common:
        yield from (text(f"{mark} {note}", "dim") for note, mark in marks.items())
    if len(rows) < len(comparison.rows):
        counted = Counter((row.reason, phrases.arms(row)) for row in missing)
        for reason, found in groupby(counted.items(), key=lambda each: each[0][0]):
            arms = ", ".join(f"{arm} ({units.plural(count, 'case')})" for (_, arm), count in found)
            yield text(f"Missing, {phrases.clean(reason)}: {arms}.", "dim")
