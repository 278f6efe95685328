"""ResNet-50's training in TensorFlow."""

from typing import Any

import numpy as np
import tensorflow as tf

from suite.zoo.resnet50.tensorflow import network
from suite.zoo.training.recipe import BATCH_NORM
from suite.zoo.weights import Arrays

Variables = dict[str, tf.Variable]


def loss(
    w: Variables, statistics: Variables, images: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute cross-entropy over the classes, mean over the batch, and the running statistics after it."""
    new: dict[str, tf.Tensor] = {}

    def normalise(w: Variables, name: str, x: tf.Tensor) -> tf.Tensor:
        return norm(w, statistics, new, name, x)

    return cross_entropy(network(w, images, normalise), labels), new


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Compute cross-entropy, mean over the batch, of `logits`, shape (batch, classes)."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def norm(w: Variables, statistics: Variables, new: dict[str, tf.Tensor], name: str, x: tf.Tensor) -> tf.Tensor:
    """Apply BatchNorm with the statistics of the batch, and follow them.

    The operator itself is asked, since TensorFlow's function around it raises an epsilon of 1e-5 to 1.001e-5. Its
    variance for following is the unbiased one already.
    """
    out = tf.raw_ops.FusedBatchNormV3(
        x=x,
        scale=w[f"{name}.weight"],
        offset=w[f"{name}.bias"],
        mean=tf.zeros([0]),
        variance=tf.zeros([0]),
        epsilon=BATCH_NORM.epsilon,
        exponential_avg_factor=1.0,
        data_format="NHWC",
        is_training=True,
    )
    for part, batch in (("running_mean", out.batch_mean), ("running_var", out.batch_variance)):
        old = statistics[f"{name}.{part}"]
        new[f"{name}.{part}"] = (1 - BATCH_NORM.update) * old + BATCH_NORM.update * batch
    return out.y


def restore(weights: dict[str, Any]) -> Arrays:
    """Return tensors in the shapes of the specification: the inverse of `prepare`."""
    order = {4: (3, 2, 0, 1), 2: (1, 0), 1: (0,)}
    return {name: np.ascontiguousarray(array.transpose(order[array.ndim])) for name, array in weights.items()}
