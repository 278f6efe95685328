"""The reference of a batch is that of its items."""

import numpy as np
import pytest

from levelfield.zoo import inputs, models, reference, weights


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
