import hashlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from levelfield.zoo import bits


def _sha256(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def test_the_bits_are_the_ones_they_always_were() -> None:
    # Equal on NumPy 1.26.4 and 2.4.6: a change means that every published number was about other weights.
    assert _sha256(bits.words("levelfield", 1000)) == "783fef0128c69f03e4f5bb92df78b2226511b0ed24c50a67bf2471e11b17626e"
    assert (
        _sha256(bits.symmetric("levelfield", (1000,)))
        == "46102d9487a602e0e525faab53a44c52575a31ccc460431fdc62a07e290ca3c0"
    )
    assert (
        _sha256(bits.scaled("levelfield", (1000,), mean=0.1, std=0.02))
        == "00f8ae3c6c79d697f82a30b14ebc1811792047f0180da697cac71447b6652f1a"
    )


def test_symmetric_is_what_exact_integer_arithmetic_says() -> None:
    k = [int(word) >> 40 for word in bits.words("exact", 100)]
    expected = np.array([(2 * value + 1 - 2**24) / 2**24 for value in k])  # float64 holds these exactly
    np.testing.assert_array_equal(bits.symmetric("exact", (100,)).astype(np.float64), expected)


@settings(max_examples=25, deadline=None)
@given(name=st.text(max_size=20))
def test_values_are_inside_the_interval_and_never_zero(name: str) -> None:
    values = bits.symmetric(name, (64,))
    assert values.dtype == np.float32
    assert np.all(np.abs(values) < 1)
    assert np.all(np.abs(values) >= 2.0**-24)
