"""BERT-base in NumPy float64. Tensors are (batch, sequence, hidden)."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.bert import BASE, EPSILON, HEADS, Sizes

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]], *, sizes: Sizes = BASE) -> Array:
    """Compute `last_hidden_state`, shape (batch, 128, 768), from three int32 inputs of shape (batch, 128).

    `inputs`: `input_ids`, `token_type_ids` and `attention_mask`, int32, shape (batch, 128).
    """
    x = embed(w, inputs["input_ids"], inputs["token_type_ids"], sizes=sizes)
    for number in range(sizes.layers):
        x = layer(w, f"encoder.layer.{number}", x, inputs["attention_mask"], sizes=sizes)
    return x


def embed(w: Weights, input_ids: npt.NDArray[Any], token_type_ids: npt.NDArray[Any], *, sizes: Sizes = BASE) -> Array:
    """Add the embeddings of word, position and type, and normalise. The inputs are int32, shape (batch, 128)."""
    words = w["embeddings.word_embeddings.weight"][input_ids].astype(np.float64)
    positions = w["embeddings.position_embeddings.weight"][: input_ids.shape[1]].astype(np.float64)
    types = w["embeddings.token_type_embeddings.weight"][token_type_ids].astype(np.float64)
    return norm(w, "embeddings.LayerNorm", words + positions + types, sizes.epsilon)


def layer(w: Weights, name: str, x: Array, mask: npt.NDArray[Any], *, sizes: Sizes = BASE) -> Array:
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm).

    `x`: hidden state, shape (batch, 128, 768). `mask`: the attention mask, shape (batch, 128): zero where a token is
    padding.
    """
    context = attention(w, f"{name}.attention.self", x, mask, sizes=sizes)
    attended = dense(w, f"{name}.attention.output.dense", context)
    x = norm(w, f"{name}.attention.output.LayerNorm", x + attended, sizes.epsilon)
    inner = gelu(dense(w, f"{name}.intermediate.dense", x))
    return norm(w, f"{name}.output.LayerNorm", x + dense(w, f"{name}.output.dense", inner), sizes.epsilon)


def attention(w: Weights, name: str, x: Array, mask: npt.NDArray[Any], *, sizes: Sizes = BASE) -> Array:
    """Let every token look at the tokens that are not padding."""
    query, key, value = (heads(dense(w, f"{name}.{part}", x), sizes.heads) for part in ("query", "key", "value"))
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(sizes.head)  # (batch, heads, from, to)
    scores = np.where(mask[:, None, None, :] != 0, scores, -np.inf)
    context: Array = softmax(scores) @ value
    return context.transpose(0, 2, 1, 3).reshape(x.shape)


def heads(x: Array, count: int = HEADS) -> Array:
    """Split (batch, sequence, hidden) into (batch, heads, sequence, head)."""
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def dense(w: Weights, name: str, x: Array) -> Array:
    """Apply a dense layer to the last axis."""
    product: Array = x @ w[f"{name}.weight"].astype(np.float64, copy=False).T
    product += w[f"{name}.bias"]
    return product


def norm(w: Weights, name: str, x: Array, epsilon: float = EPSILON) -> Array:
    """Apply LayerNorm over the last axis."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    normal: Array = centred / np.sqrt(variance + epsilon)
    return normal * w[f"{name}.weight"] + w[f"{name}.bias"]


def gelu(x: Array) -> Array:
    """Apply the exact GELU, x·Φ(x), not its tanh approximation."""
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def softmax(x: Array) -> Array:
    """Normalise the exponentials over the last axis."""
    raised: Array = np.exp(x - x.max(axis=-1, keepdims=True))
    total: Array = raised.sum(axis=-1, keepdims=True)
    return raised / total


_STEP = 1 / 128
_LIMIT = 6.0
"""erf is 1 to the last bit of a float64 beyond 5.93."""
_ORDER = 7
"""The first term left out is below (1/256)⁸, less than a float64 can say."""


def _coefficients() -> npt.NDArray[np.float64]:
    """Taylor coefficients of erf around each multiple of the step."""
    x = np.arange(-_LIMIT, _LIMIT + _STEP / 2, _STEP)
    slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    rows = [np.array([math.erf(value) for value in x])]
    before, hermite = np.zeros_like(x), np.ones_like(x)
    for n in range(_ORDER):
        rows.append((-1) ** n * hermite * slope / math.factorial(n + 1))
        before, hermite = hermite, 2 * x * hermite - 2 * n * before
    return np.stack(rows)


_TABLE = _coefficients()


def erf(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the error function, to within a few units of the sixteenth digit. `x`: any shape."""
    inside = np.clip(x, -_LIMIT, _LIMIT)
    nearest = np.rint((inside + _LIMIT) / _STEP).astype(np.intp)
    offset = inside - (nearest * _STEP - _LIMIT)
    total: npt.NDArray[np.float64] = _TABLE[_ORDER][nearest]
    for n in range(_ORDER - 1, -1, -1):
        total = total * offset + _TABLE[n][nearest]
    return total
