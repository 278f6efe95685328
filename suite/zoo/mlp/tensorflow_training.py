"""The MLP's training in TensorFlow."""

from typing import Any

import numpy as np
import tensorflow as tf

from suite.zoo.mlp.tensorflow import logits
from suite.zoo.weights import Arrays

Variables = dict[str, tf.Variable]


def loss(
    w: Variables, statistics: Variables, features: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute binary cross-entropy from the logits, mean over the batch."""
    del statistics  # there are none
    each = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits(w, features)[:, 0])
    return tf.reduce_mean(each), {}


def restore(weights: dict[str, Any]) -> Arrays:
    """Return tensors in the shapes of the specification: the inverse of `prepare`."""
    return {name: np.ascontiguousarray(array.T) for name, array in weights.items()}
