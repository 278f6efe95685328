"""One wrong number is seen, rounding is not, and what an answer may be off by follows from the reference alone."""

from pathlib import Path

import numpy as np
import pytest

from levelfield.prepare.artifacts import Artifacts
from levelfield.zoo import parity, sensitivity
from levelfield.zoo.spec import Sensitivity

RANDOM = np.random.Generator(np.random.Philox(11))
MATRIX, VECTOR = RANDOM.standard_normal((256, 64)), RANDOM.standard_normal(64)


def product(draw: int | None = None) -> np.ndarray:
    given: tuple[np.ndarray, ...] = (MATRIX, VECTOR)
    if draw is not None:
        given = tuple(sensitivity.moved(str(at), each, draw, "fp32") for at, each in enumerate(given))
    return np.asarray(given[0] @ given[1])


def test_one_wrong_row_of_a_matrix_times_a_vector_is_seen() -> None:
    """JAX 0.10.2 has the last row off by 0.78 % (jax-ml/jax 39103): 1e-4 of all numbers together is more than that."""
    right = product()
    (moves,) = sensitivity.largest([right], lambda draw: [product(draw)])
    wrong = right.copy()
    wrong[-1] *= 1.0078
    assert parity.compare(wrong, right).relative_l2 < 1e-3
    judged = parity.judge(wrong, right, "bf16", sensitivity.allowed(moves, "fp32"))
    assert judged.reason.startswith("A number is off by"), "the tolerance of all numbers together does not see it"
    rounded = (MATRIX.astype(np.float32) @ VECTOR.astype(np.float32)).astype(np.float64)
    assert parity.judge(rounded, right, "fp32", sensitivity.allowed(moves, "fp32")).equal


def test_an_answer_is_that_to_what_was_rounded_and_is_rounded_itself() -> None:
    """OpenVINO's GRU was off by 3.8e-6 where weights and inputs moved its answer by 3.6e-6."""
    assert 5.4e-6 < sensitivity.allowed(Sensitivity(1e-6, 3.6e-6), "fp32") < 5.6e-6


def test_the_centred_error_may_be_what_the_reference_itself_has() -> None:
    """A network that answers nearly alike to all inputs: most of the plain error is in what they have in common."""
    right = 10 + RANDOM.standard_normal((2, 64))
    (moves,) = sensitivity.largest([right], lambda draw: [sensitivity.moved("y", right, draw, "bf16")])
    assert moves.relative_l2 < 0.04
    assert moves.centred > 0.2
    rounded = np.asarray(right * (1 + 2.0**-6 * RANDOM.choice([-1, 1], right.shape)))
    judged = parity.judge(rounded, right, "bf16", centred=moves.centred)
    assert judged.equal, judged.reason
    assert judged.errors is not None
    assert judged.errors.centred_relative_l2 is not None
    assert judged.errors.centred_relative_l2 > 0.1
    constant = np.broadcast_to(right.mean(axis=0), right.shape)
    assert "centred" in parity.judge(constant, right, "int8", centred=moves.centred).reason
    assert "centred" in parity.judge(constant, right, "int8", centred=9.0).reason


def test_what_is_whole_stays_and_infinities_do() -> None:
    given = np.array([0.0, 1.0, -3.0, np.inf, 0.3], np.float32)
    moved = sensitivity.moved("x", given, 0)
    assert moved[:4].tolist() == given[:4].tolist()
    assert 0 < abs(moved[4] - given[4]) / given[4] < 3e-6
    assert sensitivity.moved("x", np.arange(3), 0).tolist() == [0, 1, 2]


def test_a_row_near_zero_among_large_ones_has_their_rounding() -> None:
    reference = np.array([[1.0, -1.0], [1e-9, 0.0]])
    assert parity.compare(reference + 1e-8, reference).element < 2e-7
    assert parity.compare(reference * np.array([[1.0], [2.0]]), reference).element < 2e-7
    assert parity.compare(reference + np.array([[0.0, 0.1], [0.0, 0.0]]), reference).element > 0.01


def test_an_answer_in_steps_may_be_another_by_one_where_it_moves_at_all() -> None:
    grid = np.array([0.5, 3.0, 0.0])
    assert sensitivity.largest([grid], lambda _: [grid], steps=[0.5]) == (Sensitivity(0.0, 0.0),)
    (moves,) = sensitivity.largest([grid], lambda _: [grid + np.array([0.0, 0.5, 0.0])], steps=[0.5])
    assert parity.judge(grid + np.array([0.0, 0.0, 0.5]), grid, "int8", sensitivity.allowed(moves, "fp32")).equal
    assert not parity.judge(grid + np.array([0.0, 0.0, 1.0]), grid, "int8", sensitivity.allowed(moves, "fp32")).equal


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_a_model_of_the_zoo(tmp_path: Path, precision: str) -> None:
    said: list[str] = []
    artifacts = Artifacts(tmp_path, said.append)
    moves = artifacts.sensitivity("mlp", precision)
    assert 0 < moves.element < sensitivity.allowed(moves, precision) * 1.01 < 0.1
    said.clear()
    assert artifacts.sensitivity("mlp", precision) == moves
    assert said == [], "it is kept"
