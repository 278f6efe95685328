"""The decoder in NumPy float64. Tensors are (batch, token, hidden); there is no cache."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from suite.zoo.bert.reference import softmax
from suite.zoo.decoder.spec import EPSILON, GROUP, HEAD, LAYERS, rotations

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]]) -> Array:
    """Compute `logits` of the token that follows the last, shape (batch, 8192).

    Parameters
    ----------
    w
        Weights by name, in the shapes of the specification.
    inputs
        `input_ids`, int32, shape (batch, 128).
    """
    return logits(w, inputs["input_ids"], inputs["input_ids"].shape[1] - 1)[:, 0]


def logits(w: Weights, input_ids: npt.NDArray[Any], first: int) -> Array:
    """Compute the logits of what follows each token from one on, all tokens at once: what a cache must not change.

    Parameters
    ----------
    w
        Weights by name, in the shapes of the specification.
    input_ids
        int32, shape (batch, tokens), 512 tokens at the most.
    first
        Index of the first token whose logits are returned.

    Returns
    -------
    ndarray of float64, shape (batch, tokens − first, 8192)
    """
    x = w["model.embed_tokens.weight"][input_ids].astype(np.float64)
    for number in range(LAYERS):
        x = layer(w, f"model.layers.{number}", x)
    return dense(w, "lm_head", norm(w, "model.norm", x[:, first:]))


def layer(w: Weights, name: str, x: Array) -> Array:
    """Apply attention and the gated network, each to its normalised input, and add that input (pre-norm).

    Parameters
    ----------
    w
        Weights by name, in the shapes of the specification.
    name
        Prefix of the names of its weights.
    x
        Hidden state, shape (batch, tokens, 512).
    """
    x = x + attention(w, f"{name}.self_attn", norm(w, f"{name}.input_layernorm", x))
    normal = norm(w, f"{name}.post_attention_layernorm", x)
    gate = dense(w, f"{name}.mlp.gate_proj", normal)
    inner = gate / (1 + np.exp(-gate)) * dense(w, f"{name}.mlp.up_proj", normal)
    return x + dense(w, f"{name}.mlp.down_proj", inner)


def attention(w: Weights, name: str, x: Array) -> Array:
    """Let every token look at itself and the tokens before it.

    Parameters
    ----------
    w, name, x
        As in `layer`.
    """
    tokens = x.shape[1]
    query, key, value = (heads(dense(w, f"{name}.{part}_proj", x)) for part in ("q", "k", "v"))
    query, key = turned(query), turned(key)
    key, value = (np.repeat(part, GROUP, axis=1) for part in (key, value))
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(HEAD)  # (batch, heads, from, to)
    scores = np.where(np.tril(np.ones((tokens, tokens), dtype=bool)), scores, -np.inf)
    context = (softmax(scores) @ value).transpose(0, 2, 1, 3)
    return dense(w, f"{name}.o_proj", context.reshape(x.shape))


def heads(x: Array) -> Array:
    """Split (batch, tokens, heads × 64) into (batch, heads, tokens, 64)."""
    return x.reshape(*x.shape[:2], -1, HEAD).transpose(0, 2, 1, 3)


def turned(x: Array) -> Array:
    """Turn queries or keys, shape (batch, heads, tokens, 64), by the positions of their tokens."""
    cosine, sine = (table[: x.shape[2]] for table in rotations())
    half = HEAD // 2
    return x * cosine + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sine


def dense(w: Weights, name: str, x: Array) -> Array:
    """Apply a dense layer without a bias to the last axis.

    Parameters
    ----------
    w
        Weights by name, in the shapes of the specification.
    name
        Prefix of the names of its weights.
    x
        Shape (batch, tokens, fan in).
    """
    product: Array = x @ w[f"{name}.weight"].astype(np.float64, copy=False).T
    return product


def norm(w: Weights, name: str, x: Array) -> Array:
    """Divide by the root of the mean square over the last axis (RMSNorm).

    Parameters
    ----------
    w, name, x
        As in `layer`.
    """
    normal: Array = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON) * w[f"{name}.weight"]
    return normal
