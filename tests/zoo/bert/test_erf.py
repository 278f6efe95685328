"""The error function in NumPy, against Python's."""

import math

import numpy as np

from levelfield.zoo.bert.erf import erf


def test_erf_is_the_error_function() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20_001), [-1e300, -np.inf, np.inf, 1e300, 5e-324]])
    expected = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(erf(x), expected, rtol=0, atol=1e-15)
