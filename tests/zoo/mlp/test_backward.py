"""The MLP's hand-written gradients, against finite differences."""

import numpy as np
import pytest

from levelfield.zoo import models, reference, weights
from levelfield.zoo.training import batches
from levelfield.zoo.training.trajectory import loss_and_gradients
from tests.zoo.slopes import doubled, random_direction, slope_along


def test_every_gradient_of_the_mlp() -> None:
    model = models.get("mlp")
    state, batch = doubled(weights.make(model)), batches.make(model, 0, 16)
    _, gradients, statistics = loss_and_gradients(model, state, batch)
    assert sorted(gradients) == sorted(parameter.name for parameter in model.parameters)
    assert statistics == {}
    for name, array in random_direction("mlp").items():
        expected = slope_along("mlp", state, batch, {name: array}, 1e-4)
        assert float((gradients[name] * array).sum()) == pytest.approx(expected, rel=1e-5, abs=1e-12), name


def test_the_way_forward_is_the_references() -> None:
    """The MLP's loss follows from the reference's probabilities."""
    model = models.get("mlp")
    made, batch = weights.make(model), batches.make(model, 0, 50)
    probability = reference.run(model, made, {"features": batch["features"]})[:, 0]
    y = batch["labels"].astype(np.float64)
    expected = -np.mean(y * np.log(probability) + (1 - y) * np.log1p(-probability))
    assert loss_and_gradients(model, made, batch)[0] == pytest.approx(expected, rel=1e-12)
