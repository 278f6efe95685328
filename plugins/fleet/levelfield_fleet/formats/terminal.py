"""The verdict on a fleet in the terminal: the answer, what must be known, then node by node."""

import io
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from levelfield.compare.phrases import clean
from levelfield.report import units
from levelfield_fleet import phrases
from levelfield_fleet.types import Fleet, NodeVerdict

WIDTH = 160
"""Of a text file."""
MOST_ROWS = 40
"""Of a table; the page has all."""
_STYLES = {
    NodeVerdict.WRONG: "bold red",
    NodeVerdict.FAILED: "bold red",
    NodeVerdict.SLOW: "bold red",
    NodeVerdict.FAST: "cyan",
    NodeVerdict.FINE: "green",
}
_ANSWER_STYLES = {0: "bold green", 1: "bold red", 3: "bold yellow"}


def show(fleet: Fleet, console: Console) -> None:
    """Print a verdict. Texts from records are printed as they are, never as rich's markup."""
    # One line, so that `head -1` shows all of it.
    console.print(Text(phrases.first_line(fleet), _ANSWER_STYLES.get(fleet.exit_code, "bold")), soft_wrap=True)
    for part in _parts(fleet):
        console.print(part, highlight=False, markup=False)


def plain(fleet: Fleet) -> str:
    """Return what a terminal would show, without colours."""
    stream = io.StringIO()
    show(fleet, Console(file=stream, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _parts(fleet: Fleet) -> Iterator[RenderableType]:
    facts = phrases.facts(fleet)
    for note in fleet.notes[:MOST_ROWS]:
        yield Text(clean(note, 1000), "dim")
    if len(fleet.notes) > MOST_ROWS:
        yield Text(f"{len(fleet.notes) - MOST_ROWS} more notes: --format html shows them.", "dim")
    yield Text()
    nodes = [(node.verdict, phrases.node_cells(node)) for node in phrases.not_fine(fleet)]
    yield from _table("Nodes that are not fine", ("node", "verdict", "runs", "why"), nodes)
    cells = [(cell.verdict, phrases.cell_cells(cell, facts(cell))) for cell in phrases.striking(fleet)]
    yield from _table("Case by case", ("node", "case", "verdict", "how much", "why"), cells)
    wrong = [(NodeVerdict.WRONG, phrases.answer_cells(each)) for each in fleet.wrong]
    yield from _table("Wrong answers", ("node", "answer", "digest"), wrong)
    differing = [(NodeVerdict.DIFFERENT, phrases.fact_cells(each)) for each in phrases.shared(fleet)]
    yield from _table("What differs", ("where", "what", "value", "most peers", "nodes"), differing)
    for group in fleet.groups:
        results = [(NodeVerdict.UNDECIDED, phrases.result_cells(each)) for each in group.results]
        yield from _table(phrases.group_title(group), ("case", "nodes", "typical", "spread", "finds"), results)
    yield Text(clean(fleet.method, 1000), "dim")


def _table(
    title: str, headings: Sequence[str], rows: Sequence[tuple[NodeVerdict, tuple[str, ...]]]
) -> Iterator[RenderableType]:
    if not rows:
        return
    made = Table(title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        made.add_column(heading, overflow="fold")
    for verdict, cells in rows[:MOST_ROWS]:
        style = _STYLES.get(verdict, "yellow")
        made.add_row(*(Text(cell, style if cell == verdict.value else "") for cell in cells))
    yield made
    if len(rows) > MOST_ROWS:
        yield Text(f"{units.plural(len(rows) - MOST_ROWS, 'more row')}: --format html shows them.", "dim")
