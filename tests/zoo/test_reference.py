"""References in NumPy: their layers by definition, activations that keep their size, and batches of items."""

import math

import numpy as np
import pytest

from levelfield.zoo import inputs, models, reference, weights
from levelfield.zoo.bert import reference as bert
from levelfield.zoo.bert.reference import erf
from levelfield.zoo.resnet50 import reference as resnet50


@pytest.mark.parametrize("name", ["mlp", "canary"])
def test_a_batch_is_its_items(name: str) -> None:
    model = models.get(name)
    w = weights.make(model)
    whole = reference.run(model, w, inputs.make(model, 0, 3))
    assert whole.shape == (3, *model.output.shape)
    assert whole.dtype == np.float64
    np.testing.assert_allclose(whole[2:], reference.run(model, w, inputs.make(model, 2, 1)), rtol=1e-12)


def test_resnet50_is_computed_in_chunks_without_a_seam(resnet50_weights: weights.Arrays) -> None:
    model = models.get("resnet50")
    whole = reference.run(model, resnet50_weights, inputs.make(model, 0, 5))
    last = reference.run(model, resnet50_weights, inputs.make(model, 4, 1))
    np.testing.assert_allclose(whole[4:], last, rtol=1e-9)


def test_erf_is_the_error_function() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20_001), [-1e300, -np.inf, np.inf, 1e300, 5e-324]])
    expected = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(erf(x), expected, rtol=0, atol=1e-15)


def test_padding_cannot_be_seen(bert_weights: weights.Arrays) -> None:
    batch = inputs.make(models.get("bert"), 0, 2)
    padding = batch["attention_mask"] == 0
    assert padding.any()
    changed = {**batch, "input_ids": np.where(padding, 12345, batch["input_ids"])}
    x = bert.embed(bert_weights, batch["input_ids"], batch["token_type_ids"])
    y = bert.embed(bert_weights, changed["input_ids"], batch["token_type_ids"])
    before, after = (bert.layer(bert_weights, "encoder.layer.0", h, batch["attention_mask"]) for h in (x, y))
    np.testing.assert_array_equal(before[~padding], after[~padding])
    assert not np.allclose(before[padding], after[padding])


def test_max_pool_is_its_definition() -> None:
    x = np.random.default_rng(2).normal(size=(1, 4, 4, 1)) - 10  # all below zero: padding must not win
    found = resnet50.max_pool(x)[0, :, :, 0]
    plane = x[0, :, :, 0]
    assert found.tolist() == [
        [plane[:2, :2].max(), plane[:2, 1:4].max()],
        [plane[1:4, :2].max(), plane[1:4, 1:4].max()],
    ]
