"""The decoder in NumPy float64. Tensors are (batch, token, hidden); there is no cache."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.bert.reference import softmax
from levelfield.zoo.decoder import BASE, EPSILON, Sizes, rotations

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]], *, sizes: Sizes = BASE) -> Array:
    """Compute the next token's `logits`, shape (batch, 8192), from `input_ids`, int32, shape (batch, 128)."""
    return logits(w, inputs["input_ids"], inputs["input_ids"].shape[1] - 1, sizes=sizes)[:, 0]


def logits(w: Weights, input_ids: npt.NDArray[Any], first: int, *, sizes: Sizes = BASE) -> Array:
    """Compute the logits of what follows each token from one on, all tokens at once: what a cache must not change.

    `input_ids`: int32, shape (batch, tokens), 512 tokens at the most.
    """
    x = w["model.embed_tokens.weight"][input_ids].astype(np.float64)
    for number in range(sizes.layers):
        x = layer(w, f"model.layers.{number}", x, sizes=sizes)
    return dense(w, "lm_head", norm(w, "model.norm", x[:, first:], sizes.epsilon))


def layer(w: Weights, name: str, x: Array, *, sizes: Sizes = BASE) -> Array:
    """Apply attention and the gated network, each to its normalised input, and add that input (pre-norm).

    `x`: hidden state, shape (batch, tokens, 512).
    """
    x = x + attention(w, f"{name}.self_attn", norm(w, f"{name}.input_layernorm", x, sizes.epsilon), sizes=sizes)
    normal = norm(w, f"{name}.post_attention_layernorm", x, sizes.epsilon)
    gate = dense(w, f"{name}.mlp.gate_proj", normal)
    inner = gate / (1 + np.exp(-gate)) * dense(w, f"{name}.mlp.up_proj", normal)
    return x + dense(w, f"{name}.mlp.down_proj", inner)


def attention(w: Weights, name: str, x: Array, *, sizes: Sizes = BASE) -> Array:
    """Let every token look at itself and the tokens before it."""
    batch, tokens = x.shape[:2]
    query, key, value = (heads(dense(w, f"{name}.{part}_proj", x), sizes.head) for part in ("q", "k", "v"))
    query, key = turned(query, sizes), turned(key, sizes)
    key, value = (np.repeat(part, sizes.group, axis=1) for part in (key, value))
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(sizes.head)  # (batch, heads, from, to)
    scores = np.where(np.tril(np.ones((tokens, tokens), dtype=bool)), scores, -np.inf)
    context = (softmax(scores) @ value).transpose(0, 2, 1, 3)
    return dense(w, f"{name}.o_proj", context.reshape(batch, tokens, -1))


def heads(x: Array, width: int) -> Array:
    """Split (batch, tokens, heads × width) into (batch, heads, tokens, width)."""
    return x.reshape(*x.shape[:2], -1, width).transpose(0, 2, 1, 3)


def turned(x: Array, sizes: Sizes = BASE) -> Array:
    """Turn queries or keys by the positions of their tokens."""
    cosine, sine = (table[: x.shape[2]] for table in rotations(sizes))
    half = sizes.head // 2
    return x * cosine + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sine


def dense(w: Weights, name: str, x: Array) -> Array:
    """Apply a dense layer without a bias to the last axis."""
    product: Array = x @ w[f"{name}.weight"].astype(np.float64, copy=False).T
    return product


def norm(w: Weights, name: str, x: Array, epsilon: float = EPSILON) -> Array:
    """Divide by the root of the mean square over the last axis (RMSNorm)."""
    normal: Array = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * w[f"{name}.weight"]
    return normal
