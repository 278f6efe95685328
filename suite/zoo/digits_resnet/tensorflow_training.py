"""The training of the digits' ResNet in TensorFlow, with ResNet-50's BatchNorm and loss."""

import tensorflow as tf

from suite.zoo.digits_resnet.tensorflow import network
from suite.zoo.resnet50.tensorflow_training import cross_entropy, norm, restore

__all__ = ["loss", "restore"]

Variables = dict[str, tf.Variable]


def loss(
    w: Variables, statistics: Variables, images: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute cross-entropy over the classes, mean over the batch, and the running statistics after it."""
    new: dict[str, tf.Tensor] = {}

    def normalise(w: Variables, name: str, x: tf.Tensor) -> tf.Tensor:
        return norm(w, statistics, new, name, x)

    return cross_entropy(network(w, images, normalise), labels), new
