"""Rounding to a lower precision in NumPy: the nearest value, ties to even, nothing else touched."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.zoo import inputs, models, parity, reference, rounding, weights
from levelfield.zoo.honesty import LIKE

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
