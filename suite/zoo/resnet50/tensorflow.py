"""ResNet-50 v1.5 in TensorFlow. Tensors are (batch, height, width, channels)."""

from typing import Any

import numpy as np
import tensorflow as tf

from suite.zoo.resnet50.spec import EPSILON, STAGES, blocks
from suite.zoo.weights import Arrays


def prepare(weights: Arrays) -> dict[str, Any]:
    """Return the weights as the network wants them: kernels as (height, width, in, out), matrices as (in, out)."""
    order = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}
    return {name: np.ascontiguousarray(array.transpose(order[array.ndim])) for name, array in weights.items()}


def forward(w: dict[str, tf.Variable], images: tf.Tensor) -> tf.Tensor:
    """Compute `logits`, shape (batch, 1000), from `images`, shape (batch, 224, 224, 3)."""
    x = tf.nn.relu(norm(w, "bn1", conv(w, "conv1", images, stride=2, padding=3)))
    # After ReLU nothing is below zero, so padding with zeros is padding with −∞.
    x = tf.nn.max_pool2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, 2, "VALID")
    for number in range(len(STAGES)):
        for index, block in enumerate(blocks(number)):
            x = bottleneck(w, block, x, stride=2 if number > 0 and index == 0 else 1)
    return tf.nn.bias_add(tf.matmul(tf.reduce_mean(x, [1, 2]), w["fc.weight"]), w["fc.bias"])


def bottleneck(w: dict[str, tf.Variable], name: str, x: tf.Tensor, stride: int) -> tf.Tensor:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in w:
        shortcut = norm(w, f"{name}.downsample.1", conv(w, f"{name}.downsample.0", x, stride=stride))
    x = tf.nn.relu(norm(w, f"{name}.bn1", conv(w, f"{name}.conv1", x)))
    x = tf.nn.relu(norm(w, f"{name}.bn2", conv(w, f"{name}.conv2", x, stride=stride, padding=1)))
    x = norm(w, f"{name}.bn3", conv(w, f"{name}.conv3", x))
    return tf.nn.relu(x + shortcut)


def conv(w: dict[str, tf.Variable], name: str, x: tf.Tensor, stride: int = 1, padding: int = 0) -> tf.Tensor:
    """Convolve with explicit padding ("SAME" would pad a stride of 2 differently)."""
    around = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
    return tf.nn.conv2d(x, w[f"{name}.weight"], stride, around if padding else "VALID")


def norm(w: dict[str, tf.Variable], name: str, x: tf.Tensor) -> tf.Tensor:
    """Apply BatchNorm with its stored statistics, which the kernel takes in float32, whatever the precision."""
    parts = [tf.cast(w[f"{name}.{part}"], tf.float32) for part in ("weight", "bias", "running_mean", "running_var")]
    return tf.compat.v1.nn.fused_batch_norm(x, *parts, epsilon=EPSILON, is_training=False)[0]
