"""The digits' ResNet in TensorFlow. Tensors are (batch, height, width, channels)."""

import tensorflow as tf

from suite.zoo.digits_resnet.spec import blocks
from suite.zoo.resnet50.tensorflow import Norm, bottleneck, conv, norm, prepare

__all__ = ["forward", "network", "prepare"]


def forward(w: dict[str, tf.Variable], images: tf.Tensor) -> tf.Tensor:
    """Compute `logits`, shape (batch, 10), from `images`, shape (batch, 8, 8, 1)."""
    return network(w, images, norm)


def network(w: dict[str, tf.Variable], images: tf.Tensor, normalise: Norm) -> tf.Tensor:
    """Compute `logits` with one or the other BatchNorm."""
    x = tf.nn.relu(normalise(w, "bn1", conv(w, "conv1", images, padding=1)))
    for name, _, _, stride in blocks():
        x = bottleneck(w, name, x, stride, normalise)
    return tf.nn.bias_add(tf.matmul(tf.reduce_mean(x, [1, 2]), w["fc.weight"]), w["fc.bias"])
