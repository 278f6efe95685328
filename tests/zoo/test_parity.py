import math

import numpy as np
import pytest

from levelfield.zoo import parity

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(4, 10))


def test_errors_are_what_their_definitions_say() -> None:
    reference = np.array([[3.0, 0.0], [0.0, 4.0]])
    errors = parity.compare(reference + np.array([[0.5, 0.0], [0.0, 0.0]]), reference)
    assert errors.relative_l2 == pytest.approx(0.5 / 5)
    # Centred: reference ±(1.5, −2), norm √(2·6.25); the difference ±(0.25, 0), norm √(2·0.0625).
    assert errors.centred_relative_l2 == pytest.approx(math.sqrt(2 * 0.0625) / math.sqrt(2 * 6.25))
    assert errors.max_abs == 0.5
    assert errors.finite


def test_a_constant_answer_passes_the_plain_error_and_not_the_centred_one() -> None:
    reference = 1000 + 1e-3 * REFERENCE  # nearly alike for every input, as random networks are to noise
    judgement = parity.judge(np.broadcast_to(reference.mean(axis=0), reference.shape), reference)
    assert judgement.errors is not None
    assert judgement.errors.relative_l2 < parity.TOLERANCES["fp32"]
    assert not judgement.equal
    assert "centred" in judgement.reason


def test_a_zero_reference_takes_only_zeros() -> None:
    zeros = np.zeros((2, 3))
    assert parity.judge(zeros, zeros).equal
    assert not parity.judge(zeros + 1e-30, zeros).equal


def test_the_gate_is_at_the_tolerance() -> None:
    assert parity.judge(REFERENCE * (1 + 0.9e-5), REFERENCE).equal
    assert not parity.judge(REFERENCE * (1 + 1.1e-5), REFERENCE).equal
    assert parity.judge(REFERENCE * (1 + 2e-2), REFERENCE, "bf16").equal


def test_a_projection_is_fixed() -> None:
    found = parity.project(np.arange(8.0), count=4)
    assert found == pytest.approx(tuple(value / math.sqrt(8) for value in (-12, 28, -2, -6)))


def test_a_projection_keeps_distances() -> None:
    # Two chunks long. The mean of 64 squared projections estimates ‖x‖²/n with relative deviation √(2/64) = 18 %.
    x = RNG.normal(size=100_000)
    assert np.mean(np.square(parity.project(x))) == pytest.approx(np.mean(np.square(x)), rel=0.6)
