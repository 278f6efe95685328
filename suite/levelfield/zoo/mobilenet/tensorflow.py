"""MobileNetV2 in TensorFlow. Tensors are (batch, height, width, channels)."""

import tensorflow as tf

from levelfield.zoo.mobilenet import BASE, Block, Conv, Sizes, blocks, first, last
from levelfield.zoo.resnet50.tensorflow import conv, norm

Variables = dict[str, tf.Variable]


def forward(w: Variables, images: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Compute `logits`, shape (batch, 1000), from `images`, float32, shape (batch, 224, 224, 3)."""
    x = tf.nn.relu6(normalised(w, first(sizes), images))
    for block in blocks(sizes):
        x = inverted_residual(w, block, x)
    pooled = tf.reduce_mean(tf.nn.relu6(normalised(w, last(sizes), x)), [1, 2])
    return tf.nn.bias_add(tf.matmul(pooled, w["classifier.1.weight"]), w["classifier.1.bias"])


def inverted_residual(w: Variables, block: Block, x: tf.Tensor) -> tf.Tensor:
    """Expand, convolve each channel by itself, project, and add the input where the shape stays."""
    shortcut = x
    if block.expand is not None:
        x = tf.nn.relu6(normalised(w, block.expand, x))
    x = tf.nn.relu6(normalised(w, block.depthwise, x))
    x = normalised(w, block.project, x)
    return x + shortcut if block.residual else x


def normalised(w: Variables, one: Conv, x: tf.Tensor) -> tf.Tensor:
    """Apply a convolution and the BatchNorm after it."""
    if one.depthwise:
        return norm(w, one.norm, depthwise(w, one, x), one.epsilon)
    return norm(w, one.norm, conv(w, one.name, x, one.stride, one.padding), one.epsilon)


def depthwise(w: Variables, one: Conv, x: tf.Tensor) -> tf.Tensor:
    """Convolve each channel with its own kernel, with explicit padding."""
    kernel = tf.transpose(w[f"{one.name}.weight"], [0, 1, 3, 2])  # (height, width, channels, 1)
    around = [[0, 0], list(one.padding), list(one.padding), [0, 0]]
    return tf.nn.depthwise_conv2d(x, kernel, [1, one.stride, one.stride, 1], around)
