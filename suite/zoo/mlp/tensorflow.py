"""The MLP in TensorFlow."""

from typing import Any

import numpy as np
import tensorflow as tf

from suite.zoo.mlp.spec import WIDTHS
from suite.zoo.weights import Arrays

LAYERS = len(WIDTHS) - 1


def prepare(weights: Arrays) -> dict[str, Any]:
    """Return the weights as the network wants them: matrices as (in, out)."""
    return {name: np.ascontiguousarray(array.T) for name, array in weights.items()}


def forward(w: dict[str, tf.Variable], features: tf.Tensor) -> tf.Tensor:
    """Compute the probability, shape (batch, 1), from `features`, shape (batch, 200)."""
    return tf.nn.sigmoid(logits(w, features))


def logits(w: dict[str, tf.Variable], features: tf.Tensor, layers: int = LAYERS) -> tf.Tensor:
    """Compute what the sigmoid is taken of, shape (batch, width of the last of `layers`)."""
    x = features
    for layer in range(layers - 1):
        x = tf.nn.relu(dense(w, layer, x))
    return dense(w, layers - 1, x)


def dense(w: dict[str, tf.Variable], layer: int, x: tf.Tensor) -> tf.Tensor:
    """Apply a dense layer: (batch, in) → (batch, out)."""
    return tf.nn.bias_add(tf.matmul(x, w[f"layers.{layer}.weight"]), w[f"layers.{layer}.bias"])
