"""BERT's training in TensorFlow."""

from typing import Any

import numpy as np
import tensorflow as tf

from suite.zoo.bert.tensorflow import forward
from suite.zoo.weights import Arrays

Variables = dict[str, tf.Variable]


def loss(
    w: Variables,
    statistics: Variables,
    input_ids: tf.Tensor,
    token_type_ids: tf.Tensor,
    attention_mask: tf.Tensor,
    positions: tf.Tensor,
    labels: tf.Tensor,
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute cross-entropy over the vocabulary, mean over the masked words; the head is the table of embeddings."""
    del statistics  # there are none
    hidden = forward(w, input_ids, token_type_ids, attention_mask)
    masked = tf.reshape(tf.gather(hidden, positions, batch_dims=1), [-1, hidden.shape[-1]])
    logits = tf.matmul(masked, w["embeddings.word_embeddings.weight"], transpose_b=True)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(labels, [-1]), logits=logits)
    return tf.reduce_mean(each), {}


def restore(weights: dict[str, Any]) -> Arrays:
    """Return tensors in the shapes of the specification: the inverse of `prepare`."""
    return {
        name: array if name.startswith("embeddings.") else np.ascontiguousarray(array.T)
        for name, array in weights.items()
    }
