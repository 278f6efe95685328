"""GLUE's tables of sentences and labels, as its published archives hold them.

References
----------
A. Wang, A. Singh, J. Michael, F. Hill, O. Levy, S. R. Bowman (2018). GLUE: A Multi-Task Benchmark and Analysis Platform
for Natural Language Understanding. arXiv:1804.07461.
"""

import math
from pathlib import Path

import msgspec

from levelfield.prepare.evaluation import texts
from levelfield.prepare.evaluation.listing import UnusableError, shown
from levelfield.prepare.evaluation.tasks import Table

HIGHEST_SCORE = 5.0
"""Of STS-B."""


class Sentences(msgspec.Struct, frozen=True):
    """One row: a sentence or two, and what is right."""

    first: str
    second: str | None
    label: int
    """Place of the class; 0 where it is a score."""
    score: float = 0.0


def read(path: Path, table: Table) -> tuple[Sentences, ...]:
    """Read a task's file of labelled sentences.

    Raises UnusableError: it cannot be read, has other columns, was cut off, or holds a label that the task has not.
    """
    file, inside = (path / table.file, path) if path.is_dir() else (path, None)
    lines = texts.read(file, "the table of sentences", inside=inside).split("\n")
    lines = [line.removesuffix("\r") for line in lines[: -1 if lines[-1] == "" else None]]
    by_name = isinstance(table.label, str)
    heading = lines[0].split("\t") if by_name and lines else []
    columns = [_column(each, heading, file) for each in (*table.sentences, table.label)]
    width = len(heading) if by_name else max(columns) + 1
    rows = []
    for number, line in enumerate(lines[1:] if by_name else lines, start=2 if by_name else 1):
        fields = line.split("\t")
        if len(fields) != width:
            raise UnusableError(
                f"Line {number} of {shown(file.name)} has {len(fields)} fields, and should have {width}: the file was "
                "cut off or changed."
            )
        *sentences, label = (fields[each] for each in columns)
        rows.append(_row(sentences, label, table, f"line {number} of {shown(file.name)}"))
    if not rows:
        raise UnusableError(f"{shown(file.name)} holds no sentences.")
    return tuple(rows)


def _column(wanted: str | int, heading: list[str], file: Path) -> int:
    if isinstance(wanted, int):
        return wanted
    if wanted not in heading:
        raise UnusableError(f"{shown(file.name)} has no column {wanted!r}: is it another task's file, or the test's?")
    return heading.index(wanted)


def _row(sentences: list[str], label: str, table: Table, where: str) -> Sentences:
    second = sentences[1] if len(sentences) > 1 else None
    if table.classes:
        if label not in table.classes:
            raise UnusableError(f"The label {shown(label)} in {where} is none of {', '.join(table.classes)}.")
        return Sentences(sentences[0], second, table.classes.index(label))
    try:
        score = float(label)
    except ValueError:
        score = math.nan
    if not 0.0 <= score <= HIGHEST_SCORE:
        raise UnusableError(f"The score {shown(label)} in {where} is no number from 0 to {HIGHEST_SCORE:.0f}.")
    return Sentences(sentences[0], second, 0, score)
