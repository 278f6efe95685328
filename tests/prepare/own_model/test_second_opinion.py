"""The second opinion on a user's ONNX file: how far it moves, and what nobody's product answers."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.backends.protocol import Unsupported
from levelfield.prepare.own_model import reference, second_opinion
from levelfield.record.schema import Parity
from levelfield.worker import own_sensitivity
from levelfield.worker.messages import Output, Sense, Sensed, Verified
from levelfield.zoo.spec import Own, Sensitivity
from tests.prepare.own_model import onnx_files

RIGHT = np.linspace(-1.0, 1.0, 600).reshape(2, 300)
KNOWN = (reference.Answer("y", RIGHT.astype(np.float32).astype(np.float64), exact=False),)
MOVES = Sensitivity(2e-6, 6e-6)


def said(values: np.ndarray) -> Output:
    return Output(values.shape, "<f8", values.tobytes(), exact=False)


def second(values: np.ndarray) -> tuple[reference.Answer, bool]:
    (answer,), agreed = second_opinion._second(KNOWN, Sensed((MOVES,), {}, (said(values),)), "fp32")
    return answer, agreed


def judged(values: np.ndarray, answer: reference.Answer, precision: str = "fp32") -> Parity:
    return reference.compare_answer(Verified((), b"", outputs=(said(values),)), (answer,), precision, 2)


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
    (answer,), agreed = second_opinion._second((known,), Sensed((MOVES,), {}, (said(masked),)), "fp32")
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
