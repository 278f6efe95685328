"""What a network's outputs answer, and what a container may say that is no answer."""

from typing import cast

import msgspec
import numpy as np
import pytest

from levelfield.launchers.worker import Worker, WorkerError
from levelfield.record.schema import DataSet
from levelfield.worker.messages import PluginCalled
from levelfield_datasets import answering, bert, squad
from levelfield_datasets.preparing import Judged
from levelfield_datasets.preprocessor import Preprocessor


def judged(metrics: tuple[str, ...], **fields: object) -> Judged:
    known = DataSet("x", "X", "x", metrics, "ab" * 32, 3, (0, 1, 2), **fields)  # type: ignore[arg-type]
    return Judged(known, "", 3)


def test_the_largest_output_is_the_answer_and_five_are_looked_at() -> None:
    outputs = np.zeros((3, 10), np.float32)
    outputs[0, 4] = 1
    outputs[1] = np.arange(10)[::-1]
    outputs[2] = np.arange(10)
    found = answering.judge(judged(("top-1", "top-5"), labels=(4, 4, 4)), outputs)
    assert found["answers"] == (4, 0, 9)
    assert found["right"] == {"top-1": (1, 0, 0), "top-5": (1, 1, 0)}


def test_scores_are_kept_as_they_are() -> None:
    found = answering.judge(
        judged(("Pearson correlation",), scores=(0.0, 1.0, 2.0)), np.array([[1], [2], [3]], np.float32)
    )
    assert found["scores"] == (1.0, 2.0, 3.0)


def test_a_texts_answer_is_found_over_its_windows() -> None:
    questions = (
        squad.Question("a", "?", "in Paris", ("Paris",)),
        squad.Question("b", "?", "by night", ("a day",)),
    )
    spans = tuple(squad.Span(0, (True, True), (0, 3), (2, 8)) for _ in range(3))
    outputs = np.zeros((3, 4, 2), np.float32)
    outputs[0, 0] = 1  # in, with 2 together
    outputs[1, 1] = 3  # Paris, with 6
    outputs[2, 0, 0], outputs[2, 1, 1] = 2, 2  # by night
    known = DataSet("squad", "SQuAD", "x", ("exact match", "F1 of words"), "ab" * 32, 2, (0, 1))
    found = answering.judge(Judged(known, "", 3, questions, spans, (0, 0, 1)), outputs)
    assert found["right"] == {"exact match": (1, 0)}
    assert found["shares"] == {"F1 of words": (1.0, 0.0)}
    assert len(set(found["answers"])) == 2
    assert all(0 <= each < 2**56 for each in found["answers"])


def test_no_answer_is_read_from_nan() -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        answering.judge(judged(("top-1",), labels=(0, 0, 0)), np.full((3, 2), np.nan, np.float32))


class Says:
    """A worker with one answer to everything."""

    def __init__(self, answer: bytes) -> None:
        self._answer = PluginCalled(msgspec.Raw(answer))

    def ask(self, *_: object) -> PluginCalled:
        return self._answer


@pytest.mark.parametrize(
    "pieces",
    [
        b"[]",
        b'[{"ids":[0],"starts":[0],"ends":[]}]',
        b'[{"ids":[2],"starts":[0],"ends":[1]}]',
        b'[{"ids":[-1],"starts":[0],"ends":[1]}]',
        b'[{"ids":[0],"starts":[0],"ends":[4]}]',
        b'[{"ids":[0],"starts":[0],"ends":[1]},{"ids":[],"starts":[],"ends":[]}]',
        b"[1e999]",
        b"[" * 5000,
    ],
)
def test_a_preprocessor_is_not_believed(pieces: bytes) -> None:
    worker = cast("Worker", Says(b'{"versions":{},"pieces":' + pieces + b"}"))
    with pytest.raises(WorkerError, match="The preprocessor"):
        Preprocessor(worker).tokenize(bert.Vocabulary("a\nb\n", 0, 0, 0, lowercase=True), ["abc"])
    with pytest.raises(WorkerError, match="The preprocessor"):
        Preprocessor(worker).decode([b""])
