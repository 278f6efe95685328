"""SQuAD v1.1: its file, and how an answer is found and judged, as the published code does it.

Normalisation, exact match and F1 are those of the official `evaluate-v1.1.py`; the best answer is found as in
`run_squad.py` of google-research/bert: of the twenty best beginnings and ends of every window, the pair with the
largest sum that is an answer of thirty pieces at the most. A found answer is the text between the characters of its
first and last piece.

References
----------
P. Rajpurkar, J. Zhang, K. Lopyrev, P. Liang (2016). SQuAD: 100,000+ Questions for Machine Comprehension of Text.
arXiv:1606.05250.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield_datasets.files import UnusableError, read_text, shown

VERSION = "1.1"
BEST = 20
"""Beginnings and ends of a window that are looked at."""
LONGEST_ANSWER = 30
"""Pieces of an answer."""
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    text: str


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    id: str
    question: str
    answers: tuple[Answer, ...]


class Paragraph(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    context: str
    qas: tuple[Asked, ...]


class Article(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    paragraphs: tuple[Paragraph, ...]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    version: str
    data: tuple[Article, ...]


class Question(msgspec.Struct, frozen=True):
    """A question, the text that holds its answer, and the answers that people gave."""

    id: str
    question: str
    context: str
    answers: tuple[str, ...]


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a window's pieces: which of them may begin an answer, and where they stand in the text."""

    begins: int
    """Where the first piece of the text stands in the input."""
    counts: tuple[bool, ...]
    """For each piece, whether an answer may begin there (`bert.Window`)."""
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    """Of each piece, in characters of the text."""


def read(path: Path, inside: Path | None = None) -> tuple[Question, ...]:
    """Read a file of questions.

    Raises UnusableError: it cannot be read, is of another version, or holds no questions with answers.
    """
    content = read_text(path, "file of questions", inside=inside)
    try:
        file = msgspec.json.decode(content, type=_File)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UnusableError(f"{shown(path.name)} is no file of SQuAD's form: {error}.") from None
    if file.version.removeprefix("v") != VERSION:
        raise UnusableError(
            f"{shown(path.name)} is of version {shown(file.version)}, and v{VERSION} alone is judged here: give "
            f"dev-v{VERSION}.json."
        )
    found = tuple(
        Question(asked.id, asked.question, paragraph.context, tuple(each.text for each in asked.answers))
        for article in file.data
        for paragraph in article.paragraphs
        for asked in paragraph.qas
    )
    if not found:
        raise UnusableError(f"{shown(path.name)} holds no questions.")
    unanswered = next((each.id for each in found if not each.answers), None)
    if unanswered is not None:
        raise UnusableError(f"The question {shown(unanswered)} of {shown(path.name)} has no answer to compare with.")
    return found


def best(context: str, windows: Iterable[tuple[Span, npt.NDArray[Any]]]) -> str:
    """Return the best answer that a network found; empty where it found none.

    `windows`: for each window over it, what is known of its pieces and the network's output, shape (length, 2): how
    much speaks for a beginning and for an end at each piece.
    """
    found = (0, 0)
    most = -np.inf
    for span, scores in windows:
        first, last = span.begins, span.begins + len(span.starts)
        beginnings, ends = (np.argsort(-scores[:, side], kind="stable")[:BEST] for side in (0, 1))
        for begin in (int(each) for each in beginnings if first <= each < last):
            if not span.counts[begin - first]:
                continue
            for end in (int(each) for each in ends if begin <= each < min(last, begin + LONGEST_ANSWER)):
                score = float(scores[begin, 0] + scores[end, 1])
                if score > most:
                    most, found = score, (span.starts[begin - first], span.ends[end - first])
    return context[found[0] : found[1]]


def normalised(answer: str) -> str:
    """Return an answer in small letters, without punctuation, articles and needless spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact(answer: str, truths: Sequence[str]) -> bool:
    """Return whether an answer is one of those that people gave."""
    return any(normalised(answer) == normalised(truth) for truth in truths)


def f1(answer: str, truths: Sequence[str]) -> float:
    """Return the largest F1 of an answer's words against those that people gave: 0 … 1."""
    return max(_f1(normalised(answer).split(), normalised(truth).split()) for truth in truths)


def _f1(found: Sequence[str], truth: Sequence[str]) -> float:
    same = sum((Counter(found) & Counter(truth)).values())
    return 2 * same / (len(found) + len(truth)) if same else 0.0
