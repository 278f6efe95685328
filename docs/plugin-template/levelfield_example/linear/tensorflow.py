"""One dense layer in TensorFlow."""

import tensorflow as tf


def forward(w: dict[str, tf.Tensor], features: tf.Tensor) -> tf.Tensor:
    """Compute `scores`, shape (batch, 10), from `features`, shape (batch, 64); matrices are (in, out)."""
    return tf.nn.bias_add(tf.matmul(features, w["weight"]), w["bias"])
