"""The verdict on a fleet as one HTML file: no request to anywhere, and readable without JavaScript.

The heat map has a cell for every node and case, with a sign in it. What else is known of a cell, its interval first of
all, is kept beside the table as numbers, and the page's script shows it for the cell that has the focus or the pointer:
a text in each of 30,000 cells would make the page several times larger.
"""

import os
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from levelfield.compare.phrases import clean
from levelfield.report import pages
from levelfield.version import __version__
from levelfield_fleet import phrases
from levelfield_fleet.types import Cell, Fleet, Group, Node, NodeVerdict, ResultFacts

TEMPLATES = Path(__file__).parent / "templates"
STRONG = 0.1
"""Deviation from which a cell is coloured strongly."""
_CLASSES = dict(zip(NodeVerdict, ("bad", "bad", "slow", "odd", "odd", "fast", "none", ""), strict=True))


class _Square(NamedTuple):
    text: str
    kind: str
    """Its class."""
    title: str = ""
    """What it says without the script; empty for a cell of which there is nothing to be said."""


class _Map(NamedTuple):
    group: Group
    results: Sequence[ResultFacts]
    """The columns: the case with the most that is not fine first."""
    lines: Sequence[tuple[Node, Sequence[_Square]]]
    data: Markup
    """JSON for the script: words, and by row and column what is known of a cell."""


def write(fleet: Fleet, folder: str = "") -> str:
    """Return the verdict as a page, to be written as UTF-8.

    `folder`: the folder that was gathered, as seen from where the page is written; empty: it is written there.
    """
    return pages.render(
        pages.templates(TEMPLATES).get_template("fleet.html.j2"),
        style=pages.style(TEMPLATES / "fleet.css"),
        script=(TEMPLATES / "fleet.js").read_text(encoding="utf-8").strip(),
        fleet=fleet,
        maps=[_map(fleet, group) for group in fleet.groups],
        links={phrases.node(node.name): _address(node, folder) for node in fleet.nodes if node.report},
        kinds=_CLASSES,
        verdicts=NodeVerdict,
        version=__version__,
        words=phrases,
    )


def _address(node: Node, folder: str) -> str:
    """Return the address of a node's report: relative, so that no scheme can stand in it."""
    path = os.path.join(folder, node.report)  # noqa: PTH118  (an address, no file)
    return f"./{urllib.parse.quote(os.fsencode(path))}"


def _map(fleet: Fleet, group: Group) -> _Map:
    cells = {(cell.node, cell.result): cell for cell in fleet.cells}
    names = set(group.nodes)
    serious = dict.fromkeys((facts.result for facts in group.results), 0)
    for cell in phrases.striking(fleet):
        if cell.node in names and cell.result in serious:
            serious[cell.result] += 1
    results = sorted(group.results, key=lambda facts: -serious[facts.result])
    nodes = [node for node in fleet.nodes if node.name in names]
    rows = [[cells.get((node.name, facts.result)) for facts in results] for node in nodes]
    squares = [[_square(*pair) for pair in zip(row, results, strict=True)] for row in rows]
    return _Map(group, results, list(zip(nodes, squares, strict=True)), _data(rows))


def _square(cell: Cell | None, facts: ResultFacts) -> _Square:
    if cell is None:
        return _Square(phrases.NO_CELL, "none")
    kind, text = _CLASSES[cell.verdict], phrases.in_a_cell(cell)
    if cell.ratio is not None and kind in ("slow", "fast") and abs(cell.ratio.value - 1) >= STRONG:
        kind = f"{kind} much"
    if cell.verdict in (NodeVerdict.FINE, NodeVerdict.UNDECIDED):
        return _Square(text, kind)
    about = (cell.verdict.value, phrases.deviation(cell, facts), clean(cell.reason))
    return _Square(text, kind, ", ".join(filter(None, about)))


def _data(rows: Sequence[Sequence[Cell | None]]) -> Markup:
    words: dict[str, int] = {}

    def numbers(cell: Cell | None) -> list[float | int | None]:
        """Return the places of verdict and reason among the words, runs, scatter, ratio and bounds."""
        if cell is None:
            return []
        verdict, reason = (words.setdefault(clean(text), len(words)) for text in (cell.verdict.value, cell.reason))
        bounds = () if cell.ratio is None else (cell.ratio.value, cell.ratio.low, cell.ratio.high)
        known = [verdict, reason, cell.runs, _short(cell.scatter), *map(_short, bounds)]
        while known and known[-1] is None:
            known.pop()
        return known

    cells = [list(map(numbers, row)) for row in rows]
    return pages.data_block(msgspec.json.encode({"words": list(words), "cells": cells}))


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
