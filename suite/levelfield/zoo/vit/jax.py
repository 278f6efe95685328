"""ViT-B/16 in JAX. Tensors are (batch, token, hidden)."""

import jax
import jax.numpy as jnp

from levelfield.zoo.bert.jax import dense, norm
from levelfield.zoo.vit import BASE, Sizes

Tensors = dict[str, jax.Array]


def forward(w: Tensors, images: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Compute `logits`, shape (batch, 1000), from `images`, float32, shape (batch, 224, 224, 3)."""
    x = embed(w, images, sizes=sizes)
    for number in range(sizes.layers):
        x = layer(w, f"encoder.layer.{number}", x, sizes=sizes)
    return dense(w, "classifier", norm(w, "layernorm", x, sizes.epsilon)[:, 0])


def embed(w: Tensors, images: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Project each patch, put the class token before them, and add the embeddings of position."""
    patch, hidden = sizes.patch, sizes.hidden
    name = "embeddings.patch_embeddings.projection"
    projected = jax.lax.conv_general_dilated(
        images, w[f"{name}.weight"], (patch, patch), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    patches = projected.reshape(len(images), sizes.grid**2, hidden) + w[f"{name}.bias"]
    first = jnp.broadcast_to(w["embeddings.cls_token"], (len(images), 1, hidden))
    return jnp.concatenate([first, patches], axis=1) + w["embeddings.position_embeddings"]


def layer(w: Tensors, name: str, x: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Apply attention and the two-layer network, each to its normalised input, and add that input (pre-norm).

    `x`: hidden state, shape (batch, 197, 768).
    """
    normal = norm(w, f"{name}.layernorm_before", x, sizes.epsilon)
    attended = attention(w, f"{name}.attention.attention", normal, sizes=sizes)
    x = x + dense(w, f"{name}.attention.output.dense", attended)
    inner = dense(w, f"{name}.intermediate.dense", norm(w, f"{name}.layernorm_after", x, sizes.epsilon))
    return x + dense(w, f"{name}.output.dense", jax.nn.gelu(inner, approximate=False))


def attention(w: Tensors, name: str, x: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Let every token look at all tokens."""
    split = (*x.shape[:2], sizes.heads, sizes.head)
    query, key, value = (dense(w, f"{name}.{part}", x).reshape(split) for part in ("query", "key", "value"))
    return jax.nn.dot_product_attention(query, key, value).reshape(x.shape)
