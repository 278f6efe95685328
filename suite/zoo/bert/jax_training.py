"""BERT's training in JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from suite.zoo.bert.jax import forward
from suite.zoo.weights import Arrays

Tensors = dict[str, jax.Array]


def loss(
    w: Tensors,
    statistics: Tensors,
    input_ids: jax.Array,
    token_type_ids: jax.Array,
    attention_mask: jax.Array,
    positions: jax.Array,
    labels: jax.Array,
) -> tuple[jax.Array, Tensors]:
    """Compute cross-entropy over the vocabulary, mean over the masked words; the head is the table of embeddings."""
    hidden = forward(w, input_ids, token_type_ids, attention_mask)
    masked = jnp.take_along_axis(hidden, positions[:, :, None], axis=1)
    logits = masked.reshape(-1, hidden.shape[-1]) @ w["embeddings.word_embeddings.weight"].T
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels.reshape(-1, 1), axis=1)
    return -chosen.mean(), statistics


def restore(weights: dict[str, Any]) -> Arrays:
    """Return tensors in the shapes of the specification: the inverse of `prepare`."""
    arrays = {name: np.asarray(array) for name, array in weights.items()}
    return {
        name: array if name.startswith("embeddings.") else np.ascontiguousarray(array.T)
        for name, array in arrays.items()
    }
