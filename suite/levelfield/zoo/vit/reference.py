"""ViT-B/16 in NumPy float64. Tensors are (batch, token, hidden)."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.bert.reference import dense, gelu, heads, norm, softmax
from levelfield.zoo.vit import BASE, Sizes

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]], *, sizes: Sizes = BASE) -> Array:
    """Compute `logits`, shape (batch, 1000), from `images`, float32, shape (batch, 3, 224, 224)."""
    x = embed(w, inputs["images"].astype(np.float64), sizes=sizes)
    for number in range(sizes.layers):
        x = layer(w, f"encoder.layer.{number}", x, sizes=sizes)
    return dense(w, "classifier", norm(w, "layernorm", x, sizes.epsilon)[:, 0])


def embed(w: Weights, images: Array, *, sizes: Sizes = BASE) -> Array:
    """Project each patch, put the class token before them, and add the embeddings of position."""
    batch, channels = images.shape[:2]
    grid, patch, hidden = sizes.grid, sizes.patch, sizes.hidden
    patches = images.reshape(batch, channels, grid, patch, grid, patch).transpose(0, 2, 4, 1, 3, 5)
    kernel = w["embeddings.patch_embeddings.projection.weight"].astype(np.float64).reshape(hidden, -1)
    projected = patches.reshape(batch, grid**2, -1) @ kernel.T + w["embeddings.patch_embeddings.projection.bias"]
    first = np.broadcast_to(w["embeddings.cls_token"], (batch, 1, hidden))
    embedded: Array = np.concatenate([first, projected], axis=1) + w["embeddings.position_embeddings"]
    return embedded


def layer(w: Weights, name: str, x: Array, *, sizes: Sizes = BASE) -> Array:
    """Apply attention and the two-layer network, each to its normalised input, and add that input (pre-norm).

    `x`: hidden state, shape (batch, 197, 768).
    """
    normal = norm(w, f"{name}.layernorm_before", x, sizes.epsilon)
    attended = attention(w, f"{name}.attention.attention", normal, sizes=sizes)
    x = x + dense(w, f"{name}.attention.output.dense", attended)
    inner = gelu(dense(w, f"{name}.intermediate.dense", norm(w, f"{name}.layernorm_after", x, sizes.epsilon)))
    return x + dense(w, f"{name}.output.dense", inner)


def attention(w: Weights, name: str, x: Array, *, sizes: Sizes = BASE) -> Array:
    """Let every token look at all tokens."""
    query, key, value = (heads(dense(w, f"{name}.{part}", x), sizes.heads) for part in ("query", "key", "value"))
    context: Array = softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(sizes.head)) @ value
    return context.transpose(0, 2, 1, 3).reshape(x.shape)
