"""The digits' MLP in TensorFlow."""

import tensorflow as tf

from suite.zoo.digits_mlp.spec import LAYERS
from suite.zoo.mlp.tensorflow import logits, prepare

__all__ = ["forward", "prepare"]


def forward(w: dict[str, tf.Variable], features: tf.Tensor) -> tf.Tensor:
    """Compute `logits`, shape (batch, 10), from `features`, shape (batch, 64)."""
    return logits(w, features, LAYERS)
