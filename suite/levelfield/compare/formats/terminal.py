"""A comparison in the terminal: the answer, what must be known, then case by case."""

import io
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from levelfield.compare import phrases
from levelfield.compare.types import Comparison, Outcome, Row
from levelfield.terminals import grid

WIDE = 120
"""Columns from which the costs themselves stand beside their ratio; also the width of a text file."""
MOST_CHANGES = 40
_STYLES: dict[Outcome, str] = {"worse": "bold red", "undecided": "yellow", "aside": "cyan", "fine": "green"}
_ANSWER_STYLES = {0: "bold green", 1: "bold red", 3: "bold yellow"}


def show(comparison: Comparison, console: Console) -> None:
    """Print a comparison. Texts from records are printed as they are, never as rich's markup."""
    answer = Text(phrases.first_line(comparison), _ANSWER_STYLES.get(comparison.exit_code, "bold"))
    console.print(answer, soft_wrap=True)  # one line, so that `head -1` shows all of it
    for part in _parts(comparison, wide=console.width >= WIDE):
        console.print(part, highlight=False, markup=False)


def plain(comparison: Comparison) -> str:
    """Return what a terminal would show, without colours."""
    stream = io.StringIO()
    show(
        comparison, Console(file=stream, width=WIDE + 60, color_system=None, force_terminal=False, legacy_windows=False)
    )
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _parts(comparison: Comparison, *, wide: bool) -> Iterator[RenderableType]:
    yield Text(f"old: {phrases.clean(comparison.old.label)}   new: {phrases.clean(comparison.new.label)}", "dim")
    for note in comparison.notes:
        yield Text(phrases.clean(note, 1000))
    yield Text()
    if comparison.settings:
        styles = {"not meant": "yellow"}
        rows = (
            (*phrases.setting_cells(each)[:4], Text(phrases.setting_note(each), styles.get(each.meant, "dim")))
            for each in comparison.settings[:MOST_CHANGES]
        )
        yield grid((*phrases.FACTS, ""), rows, title="What else changed")
    yield from _cases("Case by case", comparison.rows, comparison.replicate, wide=wide)
    if comparison.moved:
        answers = (
            (phrases.answer_of(each), Text(each.movement, _STYLES[each.outcome]), Text(phrases.drifted(each), "dim"))
            for each in comparison.moved
        )
        yield grid(("arm and model", "movement", ""), answers, title="Answers that are not identical")
    yield from _changes(comparison)
    yield Text(phrases.clean(comparison.method, 1000), "dim")


def _cases(title: str, rows: Sequence[Row], replicate: str, *, wide: bool) -> Iterator[RenderableType]:
    """Yield a table of cases, and in a narrow terminal what stands beside the verdicts as footnotes."""
    shared = phrases.shared(rows)
    noted = [phrases.note(row, replicate) for row in rows]
    common = noted[0] if len(rows) > 1 and len(set(noted)) == 1 else ""
    marks = {} if wide or common else _footnotes(noted)
    drifts = wide and any(row.drift is not None for row in rows)

    def cells(row: Row) -> Iterator[str | Text]:
        who, what, old, new, ratio, verdict, note = phrases.row_cells(row, replicate, brief=bool(shared))
        yield from (who, what, *((old, new) if wide else ()), ratio, *([phrases.drift(row)] if drifts else []))
        yield Text(verdict, _STYLES[row.outcome])
        if not common:
            yield Text(note if wide else marks.get(note, ""), "dim")

    headings = phrases.headings(drifts=drifts, sides=wide)
    yield grid(
        headings[:-1] if common else headings,
        [tuple(cells(row)) for row in rows],
        title=f"{title}{f' ({shared})' if shared else ''}{f': {common}' if common else ''}",
        whole=("verdict",) if wide else ("verdict", ""),
    )
    for note, mark in marks.items():
        yield Text(f"{mark} {note}", "dim")


def _footnotes(notes: Sequence[str]) -> dict[str, str]:
    """Return a mark for each note, in the order of the rows: `[1]`."""
    return {note: f"[{number}]" for number, note in enumerate(dict.fromkeys(filter(None, notes)), start=1)}


def _changes(comparison: Comparison) -> Iterator[RenderableType]:
    if missing := phrases.unrecorded(comparison.changes):
        yield Text(missing, "dim")
    if comparison.changed:
        cells = [phrases.change_cells(title, change) for title, change in comparison.changed[:MOST_CHANGES]]
        yield grid(phrases.FACTS, cells, title="What changed")
    if (rest := len(comparison.changed) - MOST_CHANGES) > 0:
        yield Text(f"{rest} more changes: --format html shows them, and what stayed the same.", "dim")
