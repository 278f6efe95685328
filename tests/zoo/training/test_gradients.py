"""Hand-written gradients of layers and whole networks, against finite differences; see also `test_oracles`."""

import math
from typing import Any

import numpy as np
import pytest

from levelfield.zoo import bits, models, reference, weights
from levelfield.zoo.resnet50 import backward as resnet50
from levelfield.zoo.training import batches, optimizers
from levelfield.zoo.training.trajectory import loss_and_gradients

SHAPE = (2, 9, 9, 3)


def layer_slopes(layer: Any, shape: tuple[int, ...]) -> None:
    """Check a layer's way back: against differences of a fixed weighted sum of its output."""
    x = bits.symmetric("x", shape).astype(np.float64)
    out, back = layer(x)
    weighing = bits.symmetric("weighing", out.shape).astype(np.float64)
    slope = back(weighing)
    direction = bits.symmetric("direction", shape).astype(np.float64)
    ends = [float((layer(x + sign * 1e-6 * direction)[0] * weighing).sum()) for sign in (1, -1)]
    assert float((slope * direction).sum()) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(("size", "stride", "padding"), [(1, 1, 0), (1, 2, 0), (3, 1, 1), (3, 2, 1), (7, 2, 3)])
def test_convolutions_find_their_way_back(size: int, stride: int, padding: int) -> None:
    tape = resnet50.Tape({"c.weight": bits.symmetric("kernel", (5, 3, size, size))})
    layer_slopes(lambda x: resnet50.conv(tape, "c", x, stride, padding), SHAPE)
    assert tape.gradients["c.weight"].shape == (5, 3, size, size)


def test_batch_norm_finds_its_way_back_and_follows_the_batch() -> None:
    names = ("weight", "bias", "running_mean", "running_var")
    tape = resnet50.Tape({f"n.{name}": 1 + 0.1 * bits.symmetric(name, (3,)) for name in names})
    layer_slopes(lambda x: resnet50.norm(tape, "n", x), SHAPE)
    x = bits.symmetric("x", SHAPE).astype(np.float64)
    resnet50.norm(tape, "n", x)
    flat = x.reshape(-1, 3)
    for name, new in (("running_mean", flat.mean(axis=0)), ("running_var", flat.var(axis=0, ddof=1))):
        expected = 0.9 * tape.w[f"n.{name}"].astype(np.float64) + 0.1 * new
        assert tape.statistics[f"n.{name}"] == pytest.approx(expected, rel=1e-12)


def test_the_max_pool_finds_its_way_back() -> None:
    layer_slopes(resnet50.max_pool, (2, 8, 8, 3))


def test_the_losses_and_their_slopes() -> None:
    logits = 3 * bits.symmetric("logits", (4, 6)).astype(np.float64)
    labels = np.array([0, 5, 2, 2])
    loss, slope = optimizers.cross_entropy(logits, labels)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert loss == pytest.approx(-np.log(shares[np.arange(4), labels]).mean(), rel=1e-12)
    assert slope.sum(axis=1) == pytest.approx(np.zeros(4), abs=1e-15)
    assert optimizers.cross_entropy(1e4 * logits, labels)[0] < math.inf
    loss, slope = optimizers.binary_cross_entropy(np.array([0.0, 800.0, -800.0]), np.array([1.0, 1.0, 0.0]))
    assert loss == pytest.approx(math.log(2) / 3)
    assert slope == pytest.approx(np.array([-0.5, 0, 0]) / 3)


def test_the_way_forward_is_the_references() -> None:
    """The MLP's loss follows from the reference's probabilities."""
    model = models.get("mlp")
    made, batch = weights.make(model), batches.make(model, 0, 50)
    probability = reference.run(model, made, {"features": batch["features"]})[:, 0]
    y = batch["labels"].astype(np.float64)
    expected = -np.mean(y * np.log(probability) + (1 - y) * np.log1p(-probability))
    assert loss_and_gradients(model, made, batch)[0] == pytest.approx(expected, rel=1e-12)
