"""GLUE's tables of sentences and labels, as its published archives hold them.

References
----------
A. Wang, A. Singh, J. Michael, F. Hill, O. Levy, S. R. Bowman (2018). GLUE: A Multi-Task Benchmark and Analysis Platform
for Natural Language Understanding. arXiv:1804.07461.
"""

import math
from pathlib import Path

import msgspec

from levelfield.record.schema import MetricName
from levelfield_datasets.files import UnusableError, read_text, shown

HIGHEST_SCORE = 5.0
"""Of STS-B."""


class Table(msgspec.Struct, frozen=True):
    """Where a task's sentences and labels stand in its file."""

    sentences: tuple[str | int, ...]
    """Columns by name, or by number where the file has no heading."""
    label: str | int
    classes: tuple[str, ...] = ("0", "1")
    """Labels as the file spells them, in the order of a network's outputs; none: a score from 0 to 5."""
    file: str = "dev.tsv"


_PAIR = ("sentence1", "sentence2")
_THREE = ("entailment", "neutral", "contradiction")
_TWO = ("entailment", "not_entailment")
_ACCURACY: tuple[MetricName, ...] = ("accuracy",)
TABLES: dict[str, tuple[str, Table, tuple[MetricName, ...]]] = {
    "cola": ("CoLA", Table((3,), 1), ("Matthews correlation",)),
    "sst2": ("SST-2", Table(("sentence",), "label"), _ACCURACY),
    "mrpc": ("MRPC", Table(("#1 String", "#2 String"), "Quality"), ("F1", "accuracy")),
    "stsb": ("STS-B", Table(_PAIR, "score", ()), ("Pearson correlation", "Spearman correlation")),
    "qqp": ("QQP", Table(("question1", "question2"), "is_duplicate"), ("F1", "accuracy")),
    "mnli": ("MNLI matched", Table(_PAIR, "gold_label", _THREE, "dev_matched.tsv"), _ACCURACY),
    "mnli-mm": ("MNLI mismatched", Table(_PAIR, "gold_label", _THREE, "dev_mismatched.tsv"), _ACCURACY),
    "qnli": ("QNLI", Table(("question", "sentence"), "label", _TWO), _ACCURACY),
    "rte": ("RTE", Table(_PAIR, "label", _TWO), _ACCURACY),
    "wnli": ("WNLI", Table(_PAIR, "label"), _ACCURACY),
}
"""Title, table and metrics of each task, by the name that follows `glue-`."""


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
    lines = read_text(file, "table of sentences", inside=inside).split("\n")
    lines = [line.removesuffix("\r") for line in lines[: -1 if lines[-1] == "" else None]]
    by_name = isinstance(table.label, str)
    heading = lines[0].split("\t") if by_name and lines else []
    columns = [_column(wanted, heading, file) for wanted in (*table.sentences, table.label)]
    width = len(heading) if by_name else max(columns) + 1
    rows = []
    for number, line in enumerate(lines[1:] if by_name else lines, start=2 if by_name else 1):
        fields = line.split("\t")
        if len(fields) != width:
            raise UnusableError(
                f"Line {number} of {shown(file.name)} has {len(fields)} fields, and should have {width}: the file was "
                "cut off or changed."
            )
        *sentences, label = (fields[column] for column in columns)
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
