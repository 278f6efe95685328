"""The losses and their slopes, against their definitions."""

import math

import numpy as np
import pytest

from levelfield.zoo import bits
from levelfield.zoo.training import losses


def test_the_losses_and_their_slopes() -> None:
    logits = 3 * bits.symmetric("logits", (4, 6)).astype(np.float64)
    labels = np.array([0, 5, 2, 2])
    loss, slope = losses.cross_entropy(logits, labels)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert loss == pytest.approx(-np.log(shares[np.arange(4), labels]).mean(), rel=1e-12)
    assert slope.sum(axis=1) == pytest.approx(np.zeros(4), abs=1e-15)
    assert losses.cross_entropy(1e4 * logits, labels)[0] < math.inf
    loss, slope = losses.binary_cross_entropy(np.array([0.0, 800.0, -800.0]), np.array([1.0, 1.0, 0.0]))
    assert loss == pytest.approx(math.log(2) / 3)
    assert slope == pytest.approx(np.array([-0.5, 0, 0]) / 3)
