"""BERT with a head in JAX."""

import jax
import jax.numpy as jnp

from levelfield.zoo.bert import jax as bert
from levelfield.zoo.berthead import ANSWERS, BASE, CLASSIFIER, POOLER, Sizes

Tensors = dict[str, jax.Array]


def forward(
    w: Tensors,
    input_ids: jax.Array,
    token_type_ids: jax.Array,
    attention_mask: jax.Array,
    *,
    sizes: Sizes = BASE,
) -> jax.Array:
    """Compute what the head whose weights are there gives: (batch, sequence, 2), or (batch, classes).

    `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, sequence).
    """
    hidden = bert.forward(w, input_ids, token_type_ids, attention_mask, sizes=sizes)
    if f"{ANSWERS}.weight" in w:
        return bert.dense(w, ANSWERS, hidden)
    return bert.dense(w, CLASSIFIER, jnp.tanh(bert.dense(w, POOLER, hidden[:, 0])))
