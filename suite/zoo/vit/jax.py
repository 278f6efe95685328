"""ViT-B/16 in JAX. Tensors are (batch, token, hidden)."""

import jax
import jax.numpy as jnp

from suite.zoo.bert.jax import dense, norm
from suite.zoo.vit.spec import GRID, HEAD, HEADS, HIDDEN, LAYERS, PATCH

Tensors = dict[str, jax.Array]


def forward(w: Tensors, images: jax.Array) -> jax.Array:
    """Compute `logits`, shape (batch, 1000), from `images`.

    Parameters
    ----------
    w
        Weights by name, as `suite.zoo.native.channels_last` returns them.
    images
        float32, shape (batch, 224, 224, 3).
    """
    x = embed(w, images)
    for number in range(LAYERS):
        x = layer(w, f"encoder.layer.{number}", x)
    return dense(w, "classifier", norm(w, "layernorm", x)[:, 0])


def embed(w: Tensors, images: jax.Array) -> jax.Array:
    """Project each patch, put the class token before them, and add the embeddings of position.

    Parameters
    ----------
    w, images
        As in `forward`.
    """
    name = "embeddings.patch_embeddings.projection"
    projected = jax.lax.conv_general_dilated(
        images, w[f"{name}.weight"], (PATCH, PATCH), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    patches = projected.reshape(len(images), GRID**2, HIDDEN) + w[f"{name}.bias"]
    first = jnp.broadcast_to(w["embeddings.cls_token"], (len(images), 1, HIDDEN))
    return jnp.concatenate([first, patches], axis=1) + w["embeddings.position_embeddings"]


def layer(w: Tensors, name: str, x: jax.Array) -> jax.Array:
    """Apply attention and the two-layer network, each to its normalised input, and add that input (pre-norm).

    Parameters
    ----------
    w
        Weights by name, as `suite.zoo.native.channels_last` returns them.
    name
        Prefix of the names of its weights.
    x
        Hidden state, shape (batch, 197, 768).
    """
    attended = attention(w, f"{name}.attention.attention", norm(w, f"{name}.layernorm_before", x))
    x = x + dense(w, f"{name}.attention.output.dense", attended)
    inner = dense(w, f"{name}.intermediate.dense", norm(w, f"{name}.layernorm_after", x))
    return x + dense(w, f"{name}.output.dense", jax.nn.gelu(inner, approximate=False))


def attention(w: Tensors, name: str, x: jax.Array) -> jax.Array:
    """Let every token look at all tokens.

    Parameters
    ----------
    w, name, x
        As in `layer`.
    """
    split = (*x.shape[:2], HEADS, HEAD)
    query, key, value = (dense(w, f"{name}.{part}", x).reshape(split) for part in ("query", "key", "value"))
    return jax.nn.dot_product_attention(query, key, value).reshape(x.shape)
