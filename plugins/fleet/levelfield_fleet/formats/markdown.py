"""The verdict on a fleet for a pull request or a chat: Markdown, in which a record's text is only text."""

from collections.abc import Iterable, Iterator, Sequence

from levelfield.report import units
from levelfield.report.markdown import table
from levelfield.safety.markdown import code, text
from levelfield_fleet import phrases
from levelfield_fleet.types import Fleet

MOST_ROWS = 100
"""Rows of a table: a comment has 65,536 characters at most."""


def write(fleet: Fleet) -> str:
    """Return the verdict as Markdown, the answer first."""
    return "\n".join(_lines(fleet)) + "\n"


def _lines(fleet: Fleet) -> Iterator[str]:
    facts = phrases.facts(fleet)
    yield f"**{text(phrases.first_line(fleet))}**"
    yield ""
    counts = (f"{phrases.SIGNS[verdict]} {verdict}: {count}" for verdict, count in phrases.counted(fleet).items())
    yield text(", ".join(counts))
    yield ""
    yield from (f"- {text(note)}" for note in fleet.notes[:MOST_ROWS])
    yield ""
    yield from _table(
        "Nodes that are not fine",
        ("node", "verdict", "runs:", "why"),
        [
            (code(name), f"{phrases.SIGNS[node.verdict]} {text(verdict)}", runs, text(why))
            for node in phrases.not_fine(fleet)
            for name, verdict, runs, why in (phrases.node_cells(node),)
        ],
    )
    yield from _table(
        "Case by case",
        ("node", "case", "verdict", "how much", "why"),
        [
            (code(node), code(result), text(verdict), text(much), text(why))
            for cell in phrases.striking(fleet)
            for node, result, verdict, much, why in (phrases.cell_cells(cell, facts(cell)),)
        ],
    )
    yield from _table(
        "Wrong answers",
        ("node", "answer", "digest"),
        [(code(node), code(answer), text(digests)) for node, answer, digests in map(phrases.answer_cells, fleet.wrong)],
    )
    yield from _table(
        "What differs",
        ("where", "what", "value", "most peers", "nodes"),
        [
            (text(where), text(what), code(own), text(majority), text(nodes))
            for where, what, own, majority, nodes in map(phrases.fact_cells, phrases.shared(fleet))
        ],
    )
    for group in fleet.groups:
        yield from _table(
            phrases.group_title(group),
            ("case", "nodes:", "typical:", "spread:", "finds:"),
            [(code(result), *map(text, rest)) for result, *rest in map(phrases.result_cells, group.results)],
            folded=True,
        )
    yield text(fleet.method)


def _table(
    title: str, headings: Sequence[str], rows: Sequence[Iterable[str]], *, folded: bool = False
) -> Iterator[str]:
    if not rows:
        return
    yield f"<details><summary>{text(title)}</summary>" if folded else text(f"{title}:")
    yield ""
    yield from table(headings, map(tuple, rows[:MOST_ROWS]))
    yield ""
    if len(rows) > MOST_ROWS:
        yield f"{units.plural(len(rows) - MOST_ROWS, 'more row')}: `--format html` shows them."
        yield ""
    if folded:
        yield "</details>"
        yield ""
