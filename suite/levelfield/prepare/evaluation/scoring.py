"""From a network's outputs to answers, and what of them is right."""

import hashlib
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.prepare.evaluation import squad
from levelfield.prepare.evaluation.preparing import Judged

ANSWER_BYTES = 7
"""Of the SHA-256 of a text that the record keeps: so that arms can be compared, and nobody's text is in a record."""
TOP = 5

Outputs = npt.NDArray[np.float32]


class Answers(msgspec.Struct, frozen=True):
    """What one arm answered, as `record.schema.Accuracy` keeps it."""

    answers: tuple[int, ...] = ()
    right: dict[str, tuple[int, ...]] = {}
    shares: dict[str, tuple[float, ...]] = {}
    scores: tuple[float, ...] = ()


def judge(judged: Judged, outputs: Outputs) -> Answers:
    """Return the answers that a network's outputs are.

    Raises ValueError: they are not finite: no answer can be read from them.
    """
    if not np.isfinite(outputs).all():
        raise ValueError("The outputs hold NaN or infinity, so that no answer can be read from them.")
    if judged.questions:
        return _texts(judged, outputs)
    if judged.data_set.scores:
        return Answers(scores=tuple(map(float, outputs.reshape(len(outputs)))))
    return _classes(judged, outputs)


def _classes(judged: Judged, outputs: Outputs) -> Answers:
    labels = np.array(judged.data_set.labels)
    best = np.argsort(-outputs, axis=1, kind="stable")
    right: dict[str, tuple[int, ...]] = {}
    for metric, many in (("top-1", 1), ("top-5", TOP), ("accuracy", 1)):
        if metric in judged.data_set.metrics:
            right[metric] = _flags((best[:, :many] == labels[:, None]).any(axis=1))
    return Answers(answers=tuple(map(int, best[:, 0])), right=right)


def _texts(judged: Judged, outputs: Outputs) -> Answers:
    found: list[list[tuple[squad.Span, Any]]] = [[] for _ in judged.questions]
    for place, span, output in zip(judged.asked, judged.spans, outputs, strict=True):
        found[place].append((span, output))
    texts = [squad.best(each.context, spans) for each, spans in zip(judged.questions, found, strict=True)]
    pairs = [(text, each.answers) for text, each in zip(texts, judged.questions, strict=True)]
    return Answers(
        answers=tuple(_code(squad.normalised(text)) for text in texts),
        right={"exact match": _flags(np.array([squad.exact(*pair) for pair in pairs]))},
        shares={"F1 of words": tuple(squad.f1(*pair) for pair in pairs)},
    )


def _flags(values: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(map(int, values))


def _code(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:ANSWER_BYTES])
