"""The ResNets in TensorFlow. Tensors are (batch, height, width, channels)."""

from collections.abc import Callable
from typing import TypeAlias

import tensorflow as tf

from levelfield.zoo.resnet50 import EPSILON, Sizes, sizes_of
from levelfield.zoo.training.recipe import BATCH_NORM

Variables = dict[str, tf.Variable]
Norm: TypeAlias = Callable[[Variables, str, tf.Tensor], tf.Tensor]
"""BatchNorm as `norm` has it, or as training wants it (`batch_norm`)."""


def forward(w: Variables, images: tf.Tensor, *, sizes: Sizes | None = None) -> tf.Tensor:
    """Compute `logits`, shape (batch, classes), from `images`, shape (batch, height, width, channels)."""
    return network(w, images, norm, sizes)


def network(w: Variables, images: tf.Tensor, normalise: Norm, sizes: Sizes | None = None) -> tf.Tensor:
    """Compute `logits` with one or the other BatchNorm."""
    sizes = sizes or sizes_of(w)
    x = conv(w, "conv1", images, stride=sizes.stride, padding=sizes.kernel // 2)
    x = tf.nn.relu(normalise(w, "bn1", x))
    if sizes.pooled:
        # After ReLU nothing is below zero, so padding with zeros is padding with −∞.
        x = tf.nn.max_pool2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, 2, "VALID")
    for block, stride in sizes.all_blocks():
        x = bottleneck(w, block, x, stride, normalise)
    return tf.nn.bias_add(tf.matmul(tf.reduce_mean(x, [1, 2]), w["fc.weight"]), w["fc.bias"])


def bottleneck(w: Variables, name: str, x: tf.Tensor, stride: int, normalise: Norm) -> tf.Tensor:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in w:
        shortcut = normalise(w, f"{name}.downsample.1", conv(w, f"{name}.downsample.0", x, stride=stride))
    x = tf.nn.relu(normalise(w, f"{name}.bn1", conv(w, f"{name}.conv1", x)))
    x = tf.nn.relu(normalise(w, f"{name}.bn2", conv(w, f"{name}.conv2", x, stride=stride, padding=1)))
    x = normalise(w, f"{name}.bn3", conv(w, f"{name}.conv3", x))
    return tf.nn.relu(x + shortcut)


def conv(w: Variables, name: str, x: tf.Tensor, stride: int = 1, padding: int | tuple[int, int] = 0) -> tf.Tensor:
    """Convolve with explicit padding ("SAME" would pad a stride of 2 differently)."""
    before, after = (padding, padding) if isinstance(padding, int) else padding
    around = [[0, 0], [before, after], [before, after], [0, 0]]
    return tf.nn.conv2d(x, w[f"{name}.weight"], stride, around if before or after else "VALID")


def norm(w: Variables, name: str, x: tf.Tensor, epsilon: float = EPSILON) -> tf.Tensor:
    """Apply BatchNorm with its stored statistics, which the kernel takes in float32, whatever the precision."""
    parts = [tf.cast(w[f"{name}.{part}"], tf.float32) for part in ("weight", "bias", "running_mean", "running_var")]
    return tf.compat.v1.nn.fused_batch_norm(x, *parts, epsilon=epsilon, is_training=False)[0]


def loss(
    w: Variables, statistics: Variables, images: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute cross-entropy over the classes, mean over the batch, and the running statistics after it.

    `labels`: classes, int32, shape (batch,).
    """
    new: dict[str, tf.Tensor] = {}

    def normalise(w: Variables, name: str, x: tf.Tensor) -> tf.Tensor:
        return batch_norm(w, statistics, new, name, x)

    logits = tf.cast(network(w, images, normalise), tf.float32)  # a loss is in float32, whatever the precision
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)), new


def batch_norm(w: Variables, statistics: Variables, new: dict[str, tf.Tensor], name: str, x: tf.Tensor) -> tf.Tensor:
    """Apply BatchNorm with the statistics of the batch, and follow them.

    The operator itself is asked, since TensorFlow's function around it raises an epsilon of 1e-5 to 1.001e-5. Its
    variance for following is the unbiased one already. It takes all but `x` in float32, whatever the precision.
    """
    out = tf.raw_ops.FusedBatchNormV3(
        x=x,
        scale=tf.cast(w[f"{name}.weight"], tf.float32),
        offset=tf.cast(w[f"{name}.bias"], tf.float32),
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
