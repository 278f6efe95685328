"""What a worker says of its outputs is compared, never believed."""

import hashlib
import math

import numpy as np
import pytest

from levelfield.record.schema import Absent, Case
from levelfield.schedule.output_verification import compare_outputs, verify_count
from levelfield.worker.messages import Verified

REFERENCE = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def said(output: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> Verified:
    return Verified(output.shape, output.astype("<f4").tobytes())


def test_the_same_answer_is_equal() -> None:
    parity = compare_outputs(said(REFERENCE), REFERENCE, "fp32")
    assert parity.equal
    assert parity.inputs == 4
    assert isinstance(parity.relative_error, float)
    assert 0 < parity.relative_error < 1e-7
    assert isinstance(parity.centred_error, float)
    assert isinstance(parity.max_abs_error, float)
    assert len(parity.projection) == 64
    assert parity.output_sha256 == hashlib.sha256(REFERENCE.astype("<f4").tobytes()).hexdigest()


@pytest.mark.parametrize(
    "output",
    [REFERENCE * 1.001, REFERENCE + 1e-3, REFERENCE[::-1], REFERENCE.mean(axis=0, keepdims=True) + 0 * REFERENCE],
)
def test_another_answer_is_not(output: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> None:
    parity = compare_outputs(said(output), REFERENCE, "fp32")
    assert not parity.equal
    assert parity.reason
    assert isinstance(parity.relative_error, float)
    assert len(parity.projection) == 64


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_an_answer_that_is_no_number(bad: float) -> None:
    output = REFERENCE.copy()
    output[1, 1] = bad
    parity = compare_outputs(said(output), REFERENCE, "fp32")
    assert not parity.equal
    for error in (parity.relative_error, parity.centred_error, parity.max_abs_error):
        assert isinstance(error, Absent)
        assert error.reason
    assert parity.projection == ()


@pytest.mark.parametrize(
    "verified",
    [
        Verified((4, 3), b""),
        Verified((4, 3), REFERENCE.astype("<f4").tobytes()[:-1]),
        Verified((3, 4), REFERENCE.astype("<f4").tobytes()),
        Verified((-4, -3), REFERENCE.astype("<f4").tobytes()),
        Verified((2**62, 2**62), REFERENCE.astype("<f4").tobytes()),
        Verified((4, 3), REFERENCE.astype("<f8").tobytes()),
    ],
)
def test_what_is_not_of_the_references_shape(verified: Verified) -> None:
    parity = compare_outputs(verified, REFERENCE, "fp32")
    assert not parity.equal
    assert "shape" in parity.reason


@pytest.mark.parametrize(
    ("model", "precision", "count"),
    [("mlp", "fp32", 2), ("mlp", "bf16", 64), ("resnet50", "bf16", 2), ("resnet50", "int8", 16), ("bert", "int8", 2)],
)
def test_enough_is_compared_to_tell_the_size_of_an_error(model: str, precision: str, count: int) -> None:
    assert verify_count(Case(model, "latency", precision, 1, 1)) == count


def sized(error: float) -> Verified:
    """Return an answer that far from the reference, with directions of its own."""
    noise = np.random.default_rng(3).standard_normal(REFERENCE.shape)
    return said(REFERENCE + noise * error * np.linalg.norm(REFERENCE) / np.linalg.norm(noise))


SIZES = {"bf16": 4e-3, "tf32": 5e-4, "int8": 2e-2}


def test_full_precision_with_the_error_of_a_lower_one_is_called_dishonest() -> None:
    parity = compare_outputs(sized(5e-3), REFERENCE, "fp32", yardstick=SIZES.__getitem__)
    assert not parity.equal
    assert parity.computed_in == "bf16"
    assert "asked for fp32" in parity.reason
    assert "size that bf16 makes" in parity.reason


def test_a_lower_precision_without_its_error_was_computed_in_full() -> None:
    parity = compare_outputs(sized(4e-7), REFERENCE, "bf16", yardstick=SIZES.__getitem__)
    assert not parity.equal
    assert parity.computed_in == "fp32"
    assert "computed in fp32" in parity.reason
    assert parity.rounding_error == 4e-3


def test_a_lower_precision_with_its_error_is_what_it_says() -> None:
    parity = compare_outputs(sized(6e-3), REFERENCE, "bf16", yardstick=SIZES.__getitem__)
    assert parity.equal, parity.reason
    assert parity.computed_in == "bf16"
    assert isinstance(parity.cosine, float)
    assert parity.cosine == pytest.approx(1, abs=1e-4)
    assert parity.top_1 == 1
