"""The decoder in JAX, over whole prompts and over a cache. Tensors are (batch, token, hidden)."""

import jax
import jax.numpy as jnp

from levelfield.zoo.decoder import BASE, EPSILON, Sizes, rotations

Tensors = dict[str, jax.Array]
Caches = list[jax.Array]
"""Key and value of every layer, in turn, each of shape (batch, 512, 2, 64)."""
Rotation = tuple[jax.Array, jax.Array]
"""Cosine and sine of the positions' angles, shape (tokens, 1, 64) each."""


def forward(w: Tensors, input_ids: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Compute the next token's `logits`, shape (batch, 8192). `input_ids`: int32, shape (batch, tokens)."""
    return cached(w, input_ids, jnp.int32(0), None, sizes=sizes)[0]


def cached(
    w: Tensors, input_ids: jax.Array, start: jax.Array, caches: Caches | None, *, sizes: Sizes = BASE
) -> tuple[jax.Array, Caches]:
    """Compute `logits` of the token that follows the last, shape (batch, 8192), and return the new caches.

    `input_ids`: int32, shape (batch, tokens). `caches`: what was kept of the tokens before; None: there were none, and
    nothing is kept.
    """
    x = w["model.embed_tokens.weight"][input_ids]
    positions = start + jnp.arange(input_ids.shape[1])
    seen = jnp.arange(sizes.context if caches is not None else input_ids.shape[1])
    mask = (seen[None, :] <= positions[:, None])[None, None]  # (batch, heads, from, to)
    tables = (jnp.asarray(table, x.dtype)[:, None] for table in rotations(sizes))
    cosine, sine = (jax.lax.dynamic_slice_in_dim(table, start, input_ids.shape[1]) for table in tables)
    kept: Caches = []
    for number in range(sizes.layers):
        here = caches[2 * number : 2 * number + 2] if caches is not None else None
        x, new = layer(w, f"model.layers.{number}", x, mask, (cosine, sine), start, here, sizes=sizes)
        kept += new
    return norm(w, "model.norm", x[:, -1], sizes.epsilon) @ w["lm_head.weight"], kept


def layer(
    w: Tensors,
    name: str,
    x: jax.Array,
    mask: jax.Array,
    rotation: Rotation,
    start: jax.Array,
    caches: Caches | None,
    *,
    sizes: Sizes = BASE,
) -> tuple[jax.Array, Caches]:
    """Apply attention and the gated network, each to its normalised input, and add that input (pre-norm)."""
    normal = norm(w, f"{name}.input_layernorm", x, sizes.epsilon)
    attended, kept = attention(w, f"{name}.self_attn", normal, mask, rotation, start, caches, sizes=sizes)
    x = x + attended
    normal = norm(w, f"{name}.post_attention_layernorm", x, sizes.epsilon)
    inner = jax.nn.silu(normal @ w[f"{name}.mlp.gate_proj.weight"]) * (normal @ w[f"{name}.mlp.up_proj.weight"])
    return x + inner @ w[f"{name}.mlp.down_proj.weight"], kept


def attention(
    w: Tensors,
    name: str,
    x: jax.Array,
    mask: jax.Array,
    rotation: Rotation,
    start: jax.Array,
    caches: Caches | None,
    *,
    sizes: Sizes = BASE,
) -> tuple[jax.Array, Caches]:
    """Let every token look at itself and the tokens before it."""
    query, key, value = ((x @ w[f"{name}.{part}_proj.weight"]).reshape(*x.shape[:2], -1, sizes.head) for part in "qkv")
    query, key = turned(query, rotation), turned(key, rotation)
    kept: Caches = []
    if caches is not None:
        new = zip(caches, (key, value), strict=True)
        key, value = kept = [jax.lax.dynamic_update_slice_in_dim(cache, part, start, axis=1) for cache, part in new]
    context = jax.nn.dot_product_attention(query, key, value, mask=mask).reshape(*x.shape[:2], -1)
    return context @ w[f"{name}.o_proj.weight"], kept


def turned(x: jax.Array, rotation: Rotation) -> jax.Array:
    """Turn queries or keys by the positions of their tokens."""
    cosine, sine = rotation
    first, second = jnp.split(x, 2, axis=-1)
    return x * cosine + jnp.concatenate([-second, first], axis=-1) * sine


def norm(w: Tensors, name: str, x: jax.Array, epsilon: float = EPSILON) -> jax.Array:
    """Divide by the root of the mean square over the last axis, in float32, whatever the precision (RMSNorm)."""
    wide = x.astype(jnp.float32)
    normal = wide * jax.lax.rsqrt((wide * wide).mean(axis=-1, keepdims=True) + epsilon)
    return normal.astype(x.dtype) * w[f"{name}.weight"]


def empty(batch: int, *, sizes: Sizes = BASE) -> Caches:
    """Return caches of a batch in which nothing stands."""
    shape = (batch, sizes.context, sizes.key_heads, sizes.head)
    return [jnp.zeros(shape, jnp.float32) for _ in range(2 * sizes.layers)]
