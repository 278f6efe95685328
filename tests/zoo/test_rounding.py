"""Rounding to a lower precision in NumPy: the nearest value, ties to even, nothing else touched."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.zoo import digits, inputs, models, parity, reference, rounding, weights
from levelfield.zoo.honesty import LIKE
from levelfield.zoo.mlp import DIGITS_WIDTHS
from levelfield.zoo.resnet50 import SMALL, convolutions
from levelfield.zoo.rounding import to_significand
from levelfield.zoo.training import convergence
from levelfield.zoo.training.trajectory import loss_and_gradients

ordinary = st.floats(2.0**-90, 2.0**90, width=32).flatmap(lambda value: st.sampled_from([value, -value]))


@given(ordinary, st.sampled_from([8, 11, 16]))
def test_it_is_the_nearest_value_of_so_many_bits(value: float, bits: int) -> None:
    rounded = float(rounding.to_significand(np.array([value], dtype=np.float32), bits)[0])
    mantissa, exponent = math.frexp(value)
    expected = math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)  # round() takes ties to even
    assert rounded == expected
    assert abs(rounded - value) <= 2.0**-bits * abs(value)


def test_eight_bits_have_a_scale_for_every_channel() -> None:
    array = np.array([[1.0, -0.5, 0.004], [100.0, 50.0, 0.4], [0.0, 0.0, 0.0]], dtype=np.float32)
    rounded = rounding.to_int8(array)
    assert np.abs(rounded - array).max(axis=1) == pytest.approx([1 / 254, 100 / 254, 0], abs=100 / 254)
    assert rounded[0, 0] == 1.0
    assert np.array_equal(rounded[2], array[2])
    steps = rounded[1] / (100 / 127)
    assert steps == pytest.approx(np.rint(steps), abs=1e-3)


@pytest.mark.parametrize("precision", ["bf16", "tf32", "fp16", "int8"])
def test_vectors_stay_and_matrices_do_not(precision: str) -> None:
    made = weights.make(models.get("mlp"))
    rounded = rounding.weights(made, precision)
    assert rounded.keys() == made.keys()
    for name, array in made.items():
        assert rounded[name].shape == array.shape
        assert rounded[name].dtype == np.float32
        assert np.array_equal(rounded[name], array) == (array.ndim < 2)


@pytest.mark.parametrize("precision", ["bf16", "int8", "tf32"])
def test_the_yardstick_lies_far_above_fp32_and_within_the_tolerance(precision: str) -> None:
    model = models.get("mlp")
    made, given_ = weights.make(model), inputs.make(model, 0, 64)
    exact = reference.run(model, made, given_)
    error = parity.compare(reference.run(model, rounding.weights(made, precision), given_), exact).relative_l2
    assert error / LIKE > parity.TOLERANCES["fp32"], "an error of the size of this precision is never equal in fp32"
    assert error < parity.TOLERANCES[precision]


RNG = np.random.default_rng(3)
BITS = 8


def rounded(array: Any) -> Any:
    return to_significand(array, BITS).astype(np.float64)


def test_a_product_is_rounded_before_and_after() -> None:
    x, w = RNG.standard_normal((5, 7)), RNG.standard_normal((7, 3))
    expected = rounded(rounded(x) @ rounded(w))
    for product in (
        x @ rounding.lowered(w, BITS),
        rounding.lowered(x, BITS) @ w,
        rounding.lowered(x, BITS) @ rounding.lowered(w, BITS),
    ):
        np.testing.assert_array_equal(rounding.exact(product), expected)
    assert not np.array_equal(expected, x @ w)


@pytest.mark.parametrize(
    ("name", "layers"), [("mlp", len(DIGITS_WIDTHS) - 1), ("resnet50", len(convolutions(SMALL, (1, 8, 8))) + 1)]
)
def test_every_product_of_a_training_is_rounded(name: str, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operands and a result of each: one product forward, two back, of which the first layer needs one."""
    calls: list[int] = []
    plain = rounding._rounded

    def counted(array: Any, bits: int) -> Any:
        calls.append(bits)
        return plain(array, bits)

    monkeypatch.setattr(rounding, "_rounded", counted)
    model = models.get(convergence.goal(name).network)
    weights = convergence.weights(model, 0)
    batch = next(digits.batches(digits.load(model).train, digits.schedule(0, 1, 8)))
    exact = loss_and_gradients(model, weights, batch)
    assert not calls
    loss, gradients, statistics = loss_and_gradients(model, weights, batch, significand=BITS)
    # A kernel of k × k pixels goes back place by place: k² products where a matrix has one.
    kernels = sum(conv.kernel**2 for conv in convolutions(SMALL, (1, 8, 8))[1:]) if name == "resnet50" else layers - 2
    assert (len(calls), set(calls)) == (3 * (2 * layers + kernels + 1), {BITS})
    assert loss == pytest.approx(exact[0], rel=0.05)
    assert loss != exact[0]
    assert gradients.keys() == exact[1].keys()
    assert statistics.keys() == exact[2].keys()
    assert {type(each) for each in (*gradients.values(), *statistics.values())} == {np.ndarray}
