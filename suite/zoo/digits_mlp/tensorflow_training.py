"""The training of the digits' MLP in TensorFlow."""

import tensorflow as tf

from suite.zoo.digits_mlp.tensorflow import forward
from suite.zoo.mlp.tensorflow_training import restore
from suite.zoo.resnet50.tensorflow_training import cross_entropy

__all__ = ["loss", "restore"]

Variables = dict[str, tf.Variable]


def loss(
    w: Variables, statistics: Variables, features: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute cross-entropy over the classes, mean over the batch."""
    del statistics  # there are none
    return cross_entropy(forward(w, features), labels), {}
