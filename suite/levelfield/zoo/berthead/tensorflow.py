"""BERT with a head in TensorFlow."""

import tensorflow as tf

from levelfield.zoo.bert import tensorflow as bert
from levelfield.zoo.berthead import ANSWERS, BASE, CLASSIFIER, POOLER, Sizes

Variables = dict[str, tf.Variable]


def forward(
    w: Variables,
    input_ids: tf.Tensor,
    token_type_ids: tf.Tensor,
    attention_mask: tf.Tensor,
    *,
    sizes: Sizes = BASE,
) -> tf.Tensor:
    """Compute what the head whose weights are there gives: (batch, sequence, 2), or (batch, classes).

    `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, sequence).
    """
    hidden = bert.forward(w, input_ids, token_type_ids, attention_mask, sizes=sizes)
    if f"{ANSWERS}.weight" in w:
        return bert.dense(w, ANSWERS, hidden)
    return bert.dense(w, CLASSIFIER, tf.math.tanh(bert.dense(w, POOLER, hidden[:, 0])))
