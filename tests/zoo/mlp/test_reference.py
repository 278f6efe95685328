"""The MLP in NumPy: activations keep their size."""

import numpy as np

from levelfield.zoo import inputs, models, weights
from levelfield.zoo.mlp import reference as mlp
from tests.zoo.healthy import healthy


def test_mlp_stays_healthy() -> None:
    model = models.get("mlp")
    w = weights.make(model)
    x = inputs.make(model, 0, 500)["features"].astype(np.float64)
    healthy(x, 0.7, 1.5)
    for layer in range(mlp.LAYERS - 1):
        x = np.maximum(mlp.dense(w, layer, x), 0)
        healthy(x, 0.2, 2.5)
    healthy(mlp.sigmoid(mlp.dense(w, mlp.LAYERS - 1, x)), 0.05, 0.5)
