"""The MLPs in TensorFlow."""

import tensorflow as tf

Variables = dict[str, tf.Variable]


def forward(w: Variables, features: tf.Tensor) -> tf.Tensor:
    """Compute the probability, shape (batch, 1), or `logits`, shape (batch, classes), from `features`.

    `features`: float32, shape (batch, first width).
    """
    z = logits(w, features)
    return tf.nn.sigmoid(z) if z.shape[1] == 1 else z


def logits(w: Variables, features: tf.Tensor) -> tf.Tensor:
    """Apply all layers, with ReLU between them."""
    x, layers = features, len(w) // 2
    for layer in range(layers - 1):
        x = tf.nn.relu(dense(w, layer, x))
    return dense(w, layers - 1, x)


def dense(w: Variables, layer: int, x: tf.Tensor) -> tf.Tensor:
    """Apply a dense layer: (batch, in) → (batch, out). `layer`: number of the layer, from 0 on."""
    return tf.nn.bias_add(tf.matmul(x, w[f"layers.{layer}.weight"]), w[f"layers.{layer}.bias"])


def loss(
    w: Variables, statistics: Variables, features: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute cross-entropy from the logits, mean over the batch: binary of one logit, else over the classes.

    `labels`: classes, shape (batch,); 0 or 1 where the network gives one logit.
    """
    del statistics  # there are none
    z = tf.cast(logits(w, features), tf.float32)  # a loss is in float32, whatever the precision
    if z.shape[1] == 1:
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=z[:, 0])), {}
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=z)), {}
