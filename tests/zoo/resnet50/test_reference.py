"""ResNet-50 in NumPy: its layers by their definitions, and activations keep their size."""

import numpy as np

from levelfield.zoo import inputs, models, weights
from levelfield.zoo.resnet50 import reference as resnet50
from tests.zoo.healthy import healthy


def test_convolution_is_its_definition() -> None:
    rng = np.random.default_rng(1)
    x, kernel = rng.normal(size=(2, 5, 6, 3)), rng.normal(size=(4, 3, 3, 3))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = np.zeros((2, 3, 3, 4))
    for n, i, j, o in np.ndindex(expected.shape):
        window = padded[n, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        expected[n, i, j, o] = sum(window[a, b, c] * kernel[o, c, a, b] for a, b, c in np.ndindex(3, 3, 3))
    found = resnet50.conv({"c.weight": kernel}, "c", x, stride=2, padding=1)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_max_pool_is_its_definition() -> None:
    x = np.random.default_rng(2).normal(size=(1, 4, 4, 1)) - 10  # all below zero: padding must not win
    found = resnet50.max_pool(x)[0, :, :, 0]
    plane = x[0, :, :, 0]
    assert found.tolist() == [
        [plane[:2, :2].max(), plane[:2, 1:4].max()],
        [plane[1:4, :2].max(), plane[1:4, 1:4].max()],
    ]


def test_resnet50_stays_healthy(resnet50_weights: weights.Arrays) -> None:
    x = inputs.make(models.get("resnet50"), 0, 2)["images"].astype(np.float64).transpose(0, 2, 3, 1)
    x = resnet50.stem(resnet50_weights, x)
    healthy(x, 0.7, 1.6)
    for number, shape in enumerate([(56, 56, 256), (28, 28, 512), (14, 14, 1024), (7, 7, 2048)]):
        x = resnet50.stage(resnet50_weights, number, x)
        assert x.shape == (2, *shape)
        healthy(x, 0.7, 1.6)
    logits = resnet50.head(resnet50_weights, x)
    healthy(logits, 0.7, 2.0)
    # The answers to two images differ by more than rounding can hide.
    assert (logits - logits.mean(axis=0)).std() > 0.02 * logits.std()
