"""What answers of a user's own file are held against, and when they are equal."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from levelfield.backends.protocol import Unsupported
from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import reference
from levelfield.prepare.own_model.reference import Answer
from levelfield.record.measured import Computed
from levelfield.record.schema import Absent, OwnFile, OwnInput, Parity
from levelfield.worker import own_sensitivity
from levelfield.worker import session as answers
from levelfield.worker.messages import Output, Sense, Sensed, Verified
from levelfield.zoo.spec import Own, Sensitivity
from tests.prepare.own_model import onnx_files

RANDOM = np.random.Generator(np.random.Philox(5))
LOGITS: npt.NDArray[np.float32] = RANDOM.standard_normal((4, 10)).astype(np.float32)
CLASSES: npt.NDArray[np.int64] = LOGITS.argmax(axis=1)
OWN = OwnFile(
    "m-0", "m.onnx", "0" * 64, 1, (OwnInput("x", "float32", (2,), batched=True),), ("logits", "class"), "fp32", 17
)


def said(*outputs: npt.NDArray[Any], computed: Computed | None = None) -> Verified:
    """What a worker says that answers in two calls."""
    half = [[each[:2] for each in outputs], [each[2:] for each in outputs]]
    calls = [answers.copies(call if len(call) > 1 else call[0]) for call in half]
    return Verified(shape=(), output=b"", computed=computed, outputs=answers.concatenated(calls))


REFERENCE = reference._usable(OWN, said(LOGITS, CLASSES).outputs)


def judge(found: Verified, precision: str = "fp32", expected: tuple[Answer, ...] = REFERENCE) -> Parity:
    return reference.compare_answer(found, expected, precision, 4)


def test_rounding_is_equal_and_a_mistake_is_not() -> None:
    assert judge(said(LOGITS * np.float32(1 + 5e-5), CLASSES)).equal
    one = judge(said(LOGITS * np.float32(1 + 2.2e-4), CLASSES))
    assert not one.equal
    assert one.reason == "The relative error of the output logits is 2.2e-04, over the tolerance of 1e-04."
    assert judge(said(LOGITS * np.float32(1 + 2.2e-4), CLASSES), "fp16").equal, "by the tolerance of its precision"


def test_whole_numbers_are_the_same_or_not() -> None:
    other = CLASSES.copy()
    other[1] += 1
    one = judge(said(LOGITS, other))
    assert not one.equal
    assert one.reason == "Of the output class, 1 of 4 whole numbers are others."


def test_what_a_worker_may_say_that_is_no_answer() -> None:
    for found in (
        said(LOGITS),
        said(LOGITS, CLASSES, CLASSES),
        said(LOGITS[:, :9], CLASSES),
        Verified(shape=(), output=b""),
        Verified(shape=(), output=b"", outputs=(Output((4, 10), "<f4", b"1234", False),) * 2),
        Verified(shape=(), output=b"", outputs=(Output((-4, -10), "<f4", LOGITS.tobytes(), False),) * 2),
        Verified(shape=(), output=b"", outputs=(Output((1 << 70,), "<f8", b"", False),) * 2),
    ):
        one = judge(found)
        assert not one.equal
        assert one.reason
    spoiled = LOGITS.copy()
    spoiled[3, 3] = np.nan
    one = judge(said(spoiled, CLASSES))
    assert not one.equal
    assert one.reason == "The output logits holds NaN or infinity."
    assert isinstance(one.relative_error, Absent)


def test_what_given_values_are_answered_with_is_compared_place_by_place() -> None:
    own = msgspec.structs.replace(OWN, inputs=(msgspec.structs.replace(OWN.inputs[0], sha256="0" * 64),))
    odd = LOGITS.copy()
    odd[0, :3] = np.nan, np.inf, -np.inf
    expected = reference._usable(own, said(odd, CLASSES).outputs)
    assert judge(said(odd * np.float32(1 + 5e-5), CLASSES), expected=expected).equal
    for place, value in (((0, 0), 1.0), ((0, 1), -np.inf), ((2, 2), np.nan)):
        other = odd.copy()
        other[place] = value
        one = judge(said(other, CLASSES), expected=expected)
        assert not one.equal
        assert one.reason.startswith("The output logits holds")
    expected = reference._usable(own, said(LOGITS[:, :0], CLASSES[:0]).outputs)
    assert judge(said(LOGITS[:, :0], CLASSES[:0]), expected=expected).equal
    assert "has the shape" in judge(said(LOGITS, CLASSES[:0]), expected=expected).reason


def test_a_reference_that_is_no_number_is_refused() -> None:
    with pytest.raises(LevelfieldError, match=r"answers with NaN or infinity .logits.*--input"):
        reference._usable(OWN, said(LOGITS * np.float32(np.inf), CLASSES).outputs)
    with pytest.raises(LevelfieldError, match="answers with nothing"):
        reference._usable(OWN, ())


RIGHT = np.linspace(-1.0, 1.0, 600).reshape(2, 300)
KNOWN = (reference.Answer("y", RIGHT.astype(np.float32).astype(np.float64), exact=False),)
MOVES = Sensitivity(2e-6, 6e-6)


def in_float64(values: np.ndarray) -> Output:
    return Output(values.shape, "<f8", values.tobytes(), exact=False)


def second(values: np.ndarray) -> tuple[reference.Answer, bool]:
    (answer,), agreed = reference._second(KNOWN, Sensed((MOVES,), {}, (in_float64(values),)), "fp32")
    return answer, agreed


def judged(values: np.ndarray, answer: reference.Answer, precision: str = "fp32") -> Parity:
    return reference.compare_answer(Verified((), b"", outputs=(in_float64(values),)), (answer,), precision, 2)


def test_the_answer_in_float64_is_the_reference_where_both_agree() -> None:
    answer, agreed = second(RIGHT)
    assert agreed
    assert (answer.values == RIGHT).all()
    assert answer.otherwise is None


def test_where_they_differ_neither_is_called_wrong_and_a_third_answer_is() -> None:
    other = RIGHT * 1.1
    answer, agreed = second(other)
    assert not agreed
    assert (answer.values == KNOWN[0].values).all(), "the reference is what it was"
    one, two, three = (judged(found, answer) for found in (RIGHT, other, RIGHT * 1.05))
    assert one.equal
    assert "this answer is ONNX Runtime's without optimisations" in one.doubt
    assert not two.equal
    assert two.reason == f"Not judged. {two.doubt}"
    assert "this answer is that" in two.doubt
    assert not three.equal
    assert three.reason.startswith("The relative error of the output y")
    assert three.doubt == ""


def test_another_shape_or_infinity_in_float64_is_another_answer() -> None:
    masked = RIGHT.copy()
    masked[0, 0] = -np.inf
    for other in (masked, RIGHT[:1]):
        answer, agreed = second(other)
        assert not agreed
        assert answer.otherwise is not None
        assert judged(RIGHT, answer).doubt
    known = msgspec.structs.replace(KNOWN[0], values=masked)
    (answer,), agreed = reference._second((known,), Sensed((MOVES,), {}, (in_float64(masked),)), "fp32")
    assert agreed
    assert judged(masked, answer).equal


def test_one_wrong_number_is_not_equal() -> None:
    answer, _ = second(RIGHT)
    wrong = RIGHT.copy()
    wrong[-1, -1] *= 1.0005
    found = judged(wrong, answer)
    assert isinstance(found.relative_error, float)
    assert found.relative_error < found.tolerance
    assert not found.equal
    assert found.reason.startswith("A number of the output y is off by")
    assert found.element_tolerance == 6e-6 + 2.0**-24 * 32
    assert judged(wrong, KNOWN[0]).equal, "nobody knows how far it moves"


def test_a_sensitive_file_has_a_wider_tolerance_and_a_quantised_one_that_of_rounding() -> None:
    answer, _ = second(RIGHT)
    sensitive = msgspec.structs.replace(answer, sensitivity=Sensitivity(8e-3, 1.0))
    assert judged(RIGHT * 1.004, sensitive).equal
    assert not judged(RIGHT * 1.01, sensitive).equal
    assert not judged(RIGHT * 1.004, answer, "int8").equal, "the reference is the same quantised file"


def test_a_file_of_more_than_2_gib_is_not_moved(tmp_path: Path) -> None:
    """Protobuf cannot write it again: it says so before it reads the weights."""
    (tmp_path / "model.onnx").write_bytes(onnx_files.classifier(beside="m.onnx_data"))
    with (tmp_path / "m.onnx_data").open("wb") as beside:
        beside.truncate(1 << 31)
    with pytest.raises(Unsupported, match="with its weights it is longer than 2 GiB"):
        own_sensitivity.answer(Sense(str(tmp_path / "model.onnx"), Own(()), 1, 2, 1))
