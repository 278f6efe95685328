"""BERT-base with a head in JAX."""

import jax
import jax.numpy as jnp

from suite.zoo.bert import jax as bert
from suite.zoo.bert_heads.spec import ANSWERS, CLASSIFIER, POOLER

Tensors = dict[str, jax.Array]


def forward(w: Tensors, input_ids: jax.Array, token_type_ids: jax.Array, attention_mask: jax.Array) -> jax.Array:
    """Compute what the head whose weights are there gives: (batch, sequence, 2), or (batch, classes).

    Parameters
    ----------
    w
        Weights by name, as `suite.zoo.native.channels_last` returns them.
    input_ids, token_type_ids, attention_mask
        int32, shape (batch, sequence).
    """
    hidden = bert.forward(w, input_ids, token_type_ids, attention_mask)
    if f"{ANSWERS}.weight" in w:
        return bert.dense(w, ANSWERS, hidden)
    return bert.dense(w, CLASSIFIER, jnp.tanh(bert.dense(w, POOLER, hidden[:, 0])))
