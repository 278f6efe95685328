"""The text embedder in TensorFlow."""

import tensorflow as tf

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.bert import tensorflow as bert

Variables = dict[str, tf.Variable]


def forward(
    w: Variables,
    input_ids: tf.Tensor,
    token_type_ids: tf.Tensor,
    attention_mask: tf.Tensor,
    *,
    sizes: Sizes = BASE,
) -> tf.Tensor:
    """Compute `sentence_embedding`, shape (batch, 768), of unit length, from three int32 inputs of shape (batch, 128).

    `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, 128).
    """
    hidden = bert.forward(w, input_ids, token_type_ids, attention_mask, sizes=sizes)
    real = tf.cast(attention_mask[:, :, None], hidden.dtype)
    mean = tf.reduce_sum(hidden * real, axis=1) / tf.reduce_sum(real, axis=1)
    return tf.math.l2_normalize(mean, axis=-1)
