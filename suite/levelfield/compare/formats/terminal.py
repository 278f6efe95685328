"""A comparison in the terminal: the answer, what must be known, then case by case."""

import io
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from levelfield.compare import phrases
from levelfield.compare.types import Comparison, Drift, Outcome, Row, Setting

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
        yield _settings(comparison.settings)
    yield from _cases("Case by case", comparison.rows, comparison.replicate, wide=wide)
    if comparison.moved:
        yield _answers(comparison.moved)
    yield from _changes(comparison)
    yield Text(phrases.clean(comparison.method, 1000), "dim")


def _grid(title: str) -> Table:
    return Table(title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)


def _settings(settings: Sequence[Setting]) -> Table:
    table = _grid("What else changed")
    for name in ("where", "what", "old", "new", ""):
        table.add_column(name, overflow="fold")
    for found in settings[:MOST_CHANGES]:
        *cells, note = phrases.setting_cells(found)
        table.add_row(*map(Text, cells), Text(note, "yellow" if found.meant == "not meant" else "dim"))
    return table


def _cases(title: str, rows: Sequence[Row], replicate: str, *, wide: bool) -> Iterator[RenderableType]:
    """Yield a table of cases, and in a narrow terminal what stands beside the verdicts as footnotes."""
    shared = phrases.shared(rows)
    noted = [phrases.note(row, replicate) for row in rows]
    common = noted[0] if len(rows) > 1 and len(set(noted)) == 1 else ""
    marks = {} if wide or common else _footnotes(noted)
    table = _grid(f"{title}{f' ({shared})' if shared else ''}{f': {common}' if common else ''}")
    for name in phrases.HEADINGS[:2]:
        table.add_column(name, overflow="fold")
    for name in ("old", "new") if wide else ():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(phrases.HEADINGS[2], justify="right", no_wrap=True)
    drifts = wide and any(row.drift is not None for row in rows)
    if drifts:
        table.add_column("after/before", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if not common:
        table.add_column("", overflow="fold", no_wrap=not wide)
    for row in rows:
        who, what, old, new, ratio, verdict, note = phrases.row_cells(row, replicate, brief=bool(shared))
        sides = (old, new) if wide else ()
        figures = (*sides, ratio, *([phrases.drift(row)] if drifts else []))
        beside = () if common else (Text(note if wide else marks.get(note, ""), "dim"),)
        table.add_row(Text(who), Text(what), *map(Text, figures), Text(verdict, _STYLES[row.outcome]), *beside)
    yield table
    for note, mark in marks.items():
        yield Text(f"{mark} {note}", "dim")


def _footnotes(notes: Sequence[str]) -> dict[str, str]:
    """Return a mark for each note, in the order of the rows: `[1]`."""
    return {note: f"[{number}]" for number, note in enumerate(dict.fromkeys(filter(None, notes)), start=1)}


def _answers(drifts: Sequence[Drift]) -> Table:
    table = _grid("Answers that are not identical")
    for name in ("arm and model", "movement", ""):
        table.add_column(name, overflow="fold")
    for drift in drifts:
        table.add_row(
            Text(phrases.answer_of(drift)),
            Text(drift.movement.value, _STYLES[drift.outcome]),
            Text(phrases.drifted(drift), "dim"),
        )
    return table


def _changes(comparison: Comparison) -> Iterator[RenderableType]:
    missing = phrases.unrecorded(comparison.changes)
    if missing:
        yield Text(missing, "dim")
    if not comparison.changed:
        return
    table = _grid("What changed")
    for name in ("where", "what", "old", "new"):
        table.add_column(name, overflow="fold")
    for title, change in comparison.changed[:MOST_CHANGES]:
        table.add_row(*map(Text, phrases.change_cells(title, change)))
    yield table
    if len(comparison.changed) > MOST_CHANGES:
        rest = len(comparison.changed) - MOST_CHANGES
        yield Text(f"{rest} more changes: --format html shows them, and what stayed the same.", "dim")
