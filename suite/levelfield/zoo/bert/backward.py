"""BERT's masked-word loss and its gradients in NumPy float64, by hand.

The head is the plainest one there is: each masked word's last hidden state times the table of word embeddings, with no
weights of its own. (The published head has a dense layer and a LayerNorm before that, under one percent of the work.)
There is no dropout: random masks cannot be made equal in all frameworks.

Every layer computes forward and returns with its output the way back, which leaves the gradients of its weights in
`gradients`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.bert import EPSILON, HEAD, HIDDEN, LAYERS, reference
from levelfield.zoo.bert.reference import erf
from levelfield.zoo.training.optimizers import cross_entropy

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]
Gradients: TypeAlias = dict[str, Array]
Back: TypeAlias = Callable[[Array], Array]

WORDS = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"
TYPES = "embeddings.token_type_embeddings.weight"


def loss_and_gradients(w: Tensors, batch: Tensors) -> tuple[float, Gradients, Gradients]:
    """Compute the loss, its gradients by every weight, and no new statistics (there are none)."""
    gradients: Gradients = {}
    x, back_embed = embed(w, gradients, batch)
    back: list[Back] = []
    for number in range(LAYERS):
        x, way = layer(w, gradients, f"encoder.layer.{number}", x, batch["attention_mask"])
        back.append(way)
    rows = np.arange(len(x))[:, None]
    masked = x[rows, batch["positions"]].reshape(-1, HIDDEN)
    table = w[WORDS].astype(np.float64, copy=False)
    loss, slope = cross_entropy(masked @ table.T, batch["labels"].reshape(-1))
    gradients[WORDS] = slope.T @ masked
    d = np.zeros(x.shape)
    d[rows, batch["positions"]] = (slope @ table).reshape(*batch["positions"].shape, HIDDEN)
    while back:
        d = back.pop()(d)
    back_embed(d)
    return loss, gradients, {}


def embed(w: Tensors, gradients: Gradients, batch: Tensors) -> tuple[Array, Back]:
    """Add the embeddings of word, position and type, and normalise; the way back ends here."""
    ids, types = batch["input_ids"], batch["token_type_ids"]
    length = ids.shape[1]
    added = w[WORDS][ids].astype(np.float64) + w[POSITIONS][:length] + w[TYPES][types]
    out, back_norm = norm(w, gradients, "embeddings.LayerNorm", added)

    def back(d: Array) -> Array:
        d = back_norm(d)
        np.add.at(gradients[WORDS], ids, d)
        gradients[POSITIONS] = np.zeros(w[POSITIONS].shape)
        gradients[POSITIONS][:length] = d.sum(axis=0)
        gradients[TYPES] = np.zeros(w[TYPES].shape)
        np.add.at(gradients[TYPES], types, d)
        return d

    return out, back


def layer(w: Tensors, gradients: Gradients, name: str, x: Array, mask: npt.NDArray[Any]) -> tuple[Array, Back]:
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm).

    `x`: hidden state, shape (batch, 128, 768). `mask`: the attention mask, shape (batch, 128).
    """
    context, back_attention = attention(w, gradients, f"{name}.attention.self", x, mask)
    attended, back_attended = dense(w, gradients, f"{name}.attention.output.dense", context)
    middle, back_middle = norm(w, gradients, f"{name}.attention.output.LayerNorm", x + attended)
    inner, back_inner = dense(w, gradients, f"{name}.intermediate.dense", middle)
    raised, back_gelu = gelu(inner)
    outer, back_outer = dense(w, gradients, f"{name}.output.dense", raised)
    out, back_out = norm(w, gradients, f"{name}.output.LayerNorm", middle + outer)

    def back(d: Array) -> Array:
        d = back_out(d)
        d = back_middle(d + back_inner(back_gelu(back_outer(d))))
        return d + back_attention(back_attended(d))

    return out, back


def attention(w: Tensors, gradients: Gradients, name: str, x: Array, mask: npt.NDArray[Any]) -> tuple[Array, Back]:
    """Let every token look at the tokens that are not padding."""
    parts = [dense(w, gradients, f"{name}.{part}", x) for part in ("query", "key", "value")]
    query, key, value = (reference.heads(out) for out, _ in parts)
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(HEAD)  # (batch, heads, from, to)
    shares = reference.softmax(np.where(mask[:, None, None, :] != 0, scores, -np.inf))
    context: Array = shares @ value

    def back(d: Array) -> Array:
        d = reference.heads(d)
        by_value = shares.transpose(0, 1, 3, 2) @ d
        by_shares = d @ value.transpose(0, 1, 3, 2)
        by_scores = shares * (by_shares - (by_shares * shares).sum(axis=-1, keepdims=True)) / math.sqrt(HEAD)
        slopes = (by_scores @ key, by_scores.transpose(0, 1, 3, 2) @ query, by_value)
        total = np.zeros(x.shape)
        for (_, way), slope in zip(parts, slopes, strict=True):
            total += way(_joined(slope, x.shape))
        return total

    return _joined(context, x.shape), back


def _joined(x: Array, shape: tuple[int, ...]) -> Array:
    """Put heads side by side again: the inverse of `reference.heads`."""
    return x.transpose(0, 2, 1, 3).reshape(shape)


def dense(w: Tensors, gradients: Gradients, name: str, x: Array) -> tuple[Array, Back]:
    """Apply a dense layer to the last axis."""
    weight = w[f"{name}.weight"].astype(np.float64, copy=False)

    def back(d: Array) -> Array:
        flat = d.reshape(-1, d.shape[-1])
        gradients[f"{name}.weight"] = flat.T @ x.reshape(-1, x.shape[-1])
        gradients[f"{name}.bias"] = flat.sum(axis=0)
        slope: Array = d @ weight
        return slope

    return reference.dense(w, name, x), back


def norm(w: Tensors, gradients: Gradients, name: str, x: Array) -> tuple[Array, Back]:
    """Apply LayerNorm over the last axis."""
    gamma = w[f"{name}.weight"].astype(np.float64, copy=False)
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPSILON)
    normal: Array = centred / deviation

    def back(d: Array) -> Array:
        gradients[f"{name}.weight"] = (d * normal).sum(axis=(0, 1))
        gradients[f"{name}.bias"] = d.sum(axis=(0, 1))
        d = d * gamma
        slope: Array = d - d.mean(axis=-1, keepdims=True) - normal * (d * normal).mean(axis=-1, keepdims=True)
        slope /= deviation
        return slope

    return normal * gamma + w[f"{name}.bias"], back


def gelu(x: Array) -> tuple[Array, Back]:
    """Apply the exact GELU, x·Φ(x); its slope is Φ(x) + x·φ(x)."""
    below = 0.5 * (1 + erf(x / math.sqrt(2)))
    return x * below, lambda d: d * (below + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
