"""The decoder in TensorFlow, over whole prompts and over a cache. Tensors are (batch, token, hidden)."""

import math

import tensorflow as tf

from levelfield.zoo.decoder import BASE, EPSILON, Sizes, rotations

Variables = dict[str, tf.Variable]
Caches = list[tf.Variable]
"""Key and value of every layer, in turn, each of shape (batch, 2, 512, 64)."""
Rotation = tuple[tf.Tensor, tf.Tensor]
"""Cosine and sine of the positions' angles, shape (tokens, 64) each."""


def forward(w: Variables, input_ids: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Compute the next token's `logits`, shape (batch, 8192). `input_ids`: int32, shape (batch, tokens)."""
    return cached(w, input_ids, tf.range(input_ids.shape[1]), None, sizes=sizes)


def cached(
    w: Variables, input_ids: tf.Tensor, positions: tf.Tensor, caches: Caches | None, *, sizes: Sizes = BASE
) -> tf.Tensor:
    """Compute `logits` of the token that follows the last, shape (batch, 8192), and keep keys and values.

    `input_ids`: int32, shape (batch, tokens). `positions`: of these tokens, one after the other: int32, shape
    (tokens,). `caches`: what was kept of the tokens before, which these are added to; None: nothing is kept.
    """
    x = tf.gather(w["model.embed_tokens.weight"], input_ids)
    seen = tf.range(sizes.context) if caches is not None else positions
    allowed = seen[tf.newaxis, :] <= positions[:, tf.newaxis]
    # Added to the scores; each head of keys serves its group's queries as if they were further tokens.
    mask = tf.tile(tf.cast(tf.where(allowed, 0.0, -math.inf), x.dtype), [sizes.group, 1])
    cosine, sine = (tf.gather(tf.constant(table, x.dtype), positions) for table in rotations(sizes))
    for number in range(sizes.layers):
        here = caches[2 * number : 2 * number + 2] if caches is not None else None
        x = layer(w, f"model.layers.{number}", x, mask, (cosine, sine), positions, here, sizes=sizes)
    return dense(w, "lm_head", norm(w, "model.norm", x[:, -1], sizes.epsilon))


def layer(
    w: Variables,
    name: str,
    x: tf.Tensor,
    mask: tf.Tensor,
    rotation: Rotation,
    positions: tf.Tensor,
    caches: Caches | None,
    *,
    sizes: Sizes = BASE,
) -> tf.Tensor:
    """Apply attention and the gated network, each to its normalised input, and add that input (pre-norm)."""
    normal = norm(w, f"{name}.input_layernorm", x, sizes.epsilon)
    x = x + attention(w, f"{name}.self_attn", normal, mask, rotation, positions, caches, sizes=sizes)
    normal = norm(w, f"{name}.post_attention_layernorm", x, sizes.epsilon)
    inner = tf.nn.silu(dense(w, f"{name}.mlp.gate_proj", normal)) * dense(w, f"{name}.mlp.up_proj", normal)
    return x + dense(w, f"{name}.mlp.down_proj", inner)


def attention(
    w: Variables,
    name: str,
    x: tf.Tensor,
    mask: tf.Tensor,
    rotation: Rotation,
    positions: tf.Tensor,
    caches: Caches | None,
    *,
    sizes: Sizes = BASE,
) -> tf.Tensor:
    """Let every token look at itself and the tokens before it."""
    batch, tokens = x.shape[:2]
    query, key, value = (heads(dense(w, f"{name}.{part}_proj", x), sizes.head) for part in "qkv")
    key = turned(key, rotation)
    if caches is not None:
        key, value = (extended(cache, positions, new) for cache, new in zip(caches, (key, value), strict=True))
    grouped = tf.reshape(turned(query, rotation), [batch, sizes.key_heads, sizes.group * tokens, sizes.head])
    scores = tf.matmul(grouped, key, transpose_b=True) * (1 / math.sqrt(sizes.head)) + mask
    context = tf.reshape(tf.matmul(tf.nn.softmax(scores), value), [batch, sizes.heads, tokens, sizes.head])
    return dense(
        w, f"{name}.o_proj", tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [batch, tokens, sizes.heads * sizes.head])
    )


def extended(cache: tf.Variable, positions: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    """Write keys or values into a cache, and return all there are. `positions`: where they stand, shape (tokens,)."""
    batch, key_heads, tokens, _ = new.shape
    grid = tf.meshgrid(tf.range(batch), tf.range(key_heads), positions, indexing="ij")
    cache.scatter_nd_update(tf.reshape(tf.stack(grid, axis=-1), [batch, key_heads, tokens, 3]), new)
    return cache.read_value()


def heads(x: tf.Tensor, width: int) -> tf.Tensor:
    """Split (batch, tokens, heads × width) into (batch, heads, tokens, width)."""
    return tf.transpose(tf.reshape(x, [*x.shape[:2], -1, width]), [0, 2, 1, 3])


def turned(x: tf.Tensor, rotation: Rotation) -> tf.Tensor:
    """Turn queries or keys by the positions of their tokens."""
    cosine, sine = rotation
    first, second = tf.split(x, 2, axis=-1)
    return x * cosine + tf.concat([-second, first], axis=-1) * sine


def dense(w: Variables, name: str, x: tf.Tensor) -> tf.Tensor:
    """Apply a dense layer without a bias to the last axis, as one product of two matrices."""
    flat = tf.reshape(x, [-1, x.shape[-1]])
    out = tf.matmul(flat, w[f"{name}.weight"])
    return tf.reshape(out, [*x.shape[:-1], out.shape[-1]])


def norm(w: Variables, name: str, x: tf.Tensor, epsilon: float = EPSILON) -> tf.Tensor:
    """Divide by the root of the mean square over the last axis, in float32, whatever the precision (RMSNorm)."""
    wide = tf.cast(x, tf.float32)
    normal = wide * tf.math.rsqrt(tf.reduce_mean(wide * wide, axis=-1, keepdims=True) + epsilon)
    return tf.cast(normal, x.dtype) * tf.cast(w[f"{name}.weight"], x.dtype)


def empty(batch: int, *, sizes: Sizes = BASE) -> Caches:
    """Return caches of a batch in which nothing stands."""
    shape = [batch, sizes.key_heads, sizes.context, sizes.head]
    return [tf.Variable(tf.zeros(shape), trainable=False) for _ in range(2 * sizes.layers)]
