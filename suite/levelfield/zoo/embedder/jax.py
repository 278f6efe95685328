"""The text embedder in JAX."""

import jax
import jax.numpy as jnp

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.bert import jax as bert

Tensors = dict[str, jax.Array]


def forward(
    w: Tensors,
    input_ids: jax.Array,
    token_type_ids: jax.Array,
    attention_mask: jax.Array,
    *,
    sizes: Sizes = BASE,
) -> jax.Array:
    """Compute `sentence_embedding`, shape (batch, 768), of unit length, from three int32 inputs of shape (batch, 128).

    `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, 128).
    """
    hidden = bert.forward(w, input_ids, token_type_ids, attention_mask, sizes=sizes)
    real = attention_mask[:, :, None].astype(hidden.dtype)
    mean = (hidden * real).sum(axis=1) / real.sum(axis=1)
    return mean / jnp.linalg.norm(mean, axis=-1, keepdims=True)
