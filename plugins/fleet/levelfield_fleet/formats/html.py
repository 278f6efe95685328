"""The verdict on a fleet as one HTML file: no request to anywhere, and readable without JavaScript.

The heat map has a cell for every node and case, with a sign in it. What else is known of a cell, its interval first of
all, is kept beside the table as numbers, and the page's script shows it for the cell that has the focus or the pointer:
a text in each of 30,000 cells would make the page several times larger.
"""

import os
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from markupsafe import Markup

from levelfield.compare.phrases import clean
from levelfield.report import pages
from levelfield.version import __version__
from levelfield_fleet import phrases
from levelfield_fleet.types import Cell, Fleet, Group, Node, NodeVerdict, ResultFacts

TEMPLATES = Path(__file__).parent.parent / "templates"
STRONG = 0.1
"""Deviation from which a cell is coloured strongly."""
_CLASSES = {
    NodeVerdict.WRONG: "bad",
    NodeVerdict.FAILED: "bad",
    NodeVerdict.SLOW: "slow",
    NodeVerdict.NOISY: "odd",
    NodeVerdict.DIFFERENT: "odd",
    NodeVerdict.FAST: "fast",
    NodeVerdict.UNDECIDED: "none",
    NodeVerdict.FINE: "",
}


class _Square(msgspec.Struct, frozen=True):
    """A cell of the heat map."""

    text: str
    kind: str
    """Its class."""
    title: str
    """What it says without the script; empty for a cell of which there is nothing to be said."""


class _Line(msgspec.Struct, frozen=True):
    """A row of the heat map."""

    node: Node
    squares: tuple[_Square, ...]


class _Map(msgspec.Struct, frozen=True):
    """The heat map of a group of like nodes."""

    group: Group
    results: tuple[ResultFacts, ...]
    """The columns: the case with the most that is not fine first."""
    lines: tuple[_Line, ...]
    data: Markup
    """JSON for the script: words, and by row and column what is known of a cell."""


def write(fleet: Fleet, folder: str = "") -> str:
    """Return the verdict as a page, to be written as UTF-8.

    `folder`: the folder that was gathered, as seen from where the page is written; empty: it is written there.
    """
    script = (TEMPLATES / "fleet.js").read_text(encoding="utf-8").strip()
    template = pages.templates(TEMPLATES).get_template("fleet.html.j2")
    return pages.render(
        template,
        style=pages.style(TEMPLATES / "fleet.css"),
        script=script,
        fleet=fleet,
        maps=[_map(fleet, group) for group in fleet.groups],
        striking=phrases.striking(fleet),
        facts=phrases.facts(fleet),
        link=_linker(folder),
        kinds=_CLASSES,
        verdicts=NodeVerdict,
        version=__version__,
        words=phrases,
    )


def _linker(folder: str) -> Callable[[Node], str]:
    """Return what makes the address of a node's report: relative, so that no scheme can stand in it."""

    def link(node: Node) -> str:
        path = os.path.join(folder, node.report) if folder else node.report  # noqa: PTH118  (an address, no file)
        return f"./{urllib.parse.quote(os.fsencode(path))}" if node.report else ""

    return link


def _map(fleet: Fleet, group: Group) -> _Map:
    of_node: dict[str, dict[str, Cell]] = {name: {} for name in group.nodes}
    serious = dict.fromkeys((each.result for each in group.results), 0)
    for cell in fleet.cells:
        if cell.node in of_node:
            of_node[cell.node][cell.result] = cell
            if cell.result in serious and cell.verdict not in (NodeVerdict.FINE, NodeVerdict.UNDECIDED):
                serious[cell.result] += 1
    results = sorted(group.results, key=lambda each: -serious[each.result])
    nodes = [node for node in fleet.nodes if node.name in of_node]
    rows = [[of_node[node.name].get(each.result) for each in results] for node in nodes]
    lines = (
        _Line(node, tuple(_square(cell, each) for cell, each in zip(row, results, strict=True)))
        for node, row in zip(nodes, rows, strict=True)
    )
    return _Map(group, tuple(results), tuple(lines), _data(rows))


def _square(cell: Cell | None, of_result: ResultFacts) -> _Square:
    if cell is None:
        return _Square(phrases.NO_CELL, "none", "")
    kind = _CLASSES[cell.verdict]
    if cell.ratio is not None and kind in ("slow", "fast") and abs(cell.ratio.value - 1) >= STRONG:
        kind = f"{kind} much"
    if cell.verdict in (NodeVerdict.FINE, NodeVerdict.UNDECIDED):
        return _Square(phrases.in_a_cell(cell), kind, "")
    _, _, verdict, much, reason = phrases.cell_cells(cell, of_result)
    return _Square(phrases.in_a_cell(cell), kind, ", ".join(filter(None, (verdict, much, reason))))


def _data(rows: Sequence[Sequence[Cell | None]]) -> Markup:
    words: dict[str, int] = {}

    def number(text: str) -> int:
        return words.setdefault(clean(text), len(words))

    cells = [[_numbers(cell, number) for cell in row] for row in rows]
    return pages.data_block(msgspec.json.encode({"words": list(words), "cells": cells}))


def _numbers(cell: Cell | None, number: Callable[[str], int]) -> list[float | int | None]:
    """Return the places of verdict and reason among the words, runs, scatter, ratio and bounds; none at the end."""
    if cell is None:
        return []
    bounds = () if cell.ratio is None else (cell.ratio.value, cell.ratio.low, cell.ratio.high)
    found = [number(cell.verdict.value), number(cell.reason), cell.runs, _short(cell.scatter), *map(_short, bounds)]
    while found and found[-1] is None:
        found.pop()
    return found


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
