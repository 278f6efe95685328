"""BERT-base in JAX. Tensors are (batch, sequence, hidden)."""

import jax
import jax.numpy as jnp

from levelfield.zoo.bert import BASE, EPSILON, Sizes

Tensors = dict[str, jax.Array]


def forward(
    w: Tensors,
    input_ids: jax.Array,
    token_type_ids: jax.Array,
    attention_mask: jax.Array,
    *,
    sizes: Sizes = BASE,
) -> jax.Array:
    """Compute `last_hidden_state`, shape (batch, 128, 768), from three int32 inputs of shape (batch, 128).

    `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, 128).
    """
    words = w["embeddings.word_embeddings.weight"][input_ids]
    positions = w["embeddings.position_embeddings.weight"][: input_ids.shape[1]]
    types = w["embeddings.token_type_embeddings.weight"][token_type_ids]
    x = norm(w, "embeddings.LayerNorm", words + positions + types, sizes.epsilon)
    mask = attention_mask[:, None, None, :] != 0
    for number in range(sizes.layers):
        x = layer(w, f"encoder.layer.{number}", x, mask, sizes=sizes)
    return x


def layer(w: Tensors, name: str, x: jax.Array, mask: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm)."""
    context = attention(w, f"{name}.attention.self", x, mask, sizes=sizes)
    attended = dense(w, f"{name}.attention.output.dense", context)
    x = norm(w, f"{name}.attention.output.LayerNorm", x + attended, sizes.epsilon)
    inner = jax.nn.gelu(dense(w, f"{name}.intermediate.dense", x), approximate=False)
    return norm(w, f"{name}.output.LayerNorm", x + dense(w, f"{name}.output.dense", inner), sizes.epsilon)


def attention(w: Tensors, name: str, x: jax.Array, mask: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Let every token look at the tokens that are not padding."""
    split = (*x.shape[:2], sizes.heads, sizes.head)
    query, key, value = (dense(w, f"{name}.{part}", x).reshape(split) for part in ("query", "key", "value"))
    return jax.nn.dot_product_attention(query, key, value, mask=mask).reshape(x.shape)


def dense(w: Tensors, name: str, x: jax.Array) -> jax.Array:
    """Apply a dense layer to the last axis."""
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def norm(w: Tensors, name: str, x: jax.Array, epsilon: float = EPSILON) -> jax.Array:
    """Apply LayerNorm over the last axis; its sums are in float32, whatever the precision, as Flax has it."""
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    normal = centred * jax.lax.rsqrt(variance + epsilon) * w[f"{name}.weight"] + w[f"{name}.bias"]
    return normal.astype(x.dtype)


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
    logits = logits.astype(jnp.float32)  # a loss is in float32, whatever the precision
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels.reshape(-1, 1), axis=1)
    return -chosen.mean(), statistics
