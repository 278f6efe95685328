"""BERT-base in MXNet. Tensors are (batch, sequence, hidden)."""

import math

from mxnet import sym

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.spec import Model
from levelfield_mxnet.networks import Symbol, Weights

_NOTHING = -1e30
"""Added to the scores of padding: its share is zero after the softmax."""


def forward(model: Model, w: Weights, input_ids: Symbol, token_type_ids: Symbol, attention_mask: Symbol) -> Symbol:
    """Compute `last_hidden_state`, shape (batch, 128, 768), from three int32 inputs of shape (batch, 128).

    `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, 128).
    """
    sizes = model.sizes if isinstance(model.sizes, Sizes) else BASE
    words = _lookup(w, "word", input_ids, sizes.vocabulary, sizes)
    types = _lookup(w, "token_type", token_type_ids, sizes.types, sizes)
    table = w["embeddings.position_embeddings.weight"]
    positions = sym.expand_dims(sym.slice_axis(table, axis=0, begin=0, end=sizes.sequence), axis=0)
    x = norm(w, "embeddings.LayerNorm", sym.broadcast_add(words + types, positions), sizes)
    mask = sym.reshape(sym.cast(attention_mask == 0, dtype="float32") * _NOTHING, shape=(0, 1, 1, -1))
    mask = sym.reshape(sym.broadcast_axis(mask, axis=1, size=sizes.heads), shape=(-3, 0, 0))
    for number in range(sizes.layers):
        x = layer(w, f"encoder.layer.{number}", x, mask, sizes)
    return x


def _lookup(w: Weights, table: str, ids: Symbol, rows: int, sizes: Sizes) -> Symbol:
    return sym.Embedding(ids, w[f"embeddings.{table}_embeddings.weight"], input_dim=rows, output_dim=sizes.hidden)


def layer(w: Weights, name: str, x: Symbol, mask: Symbol, sizes: Sizes) -> Symbol:
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm).

    `x`: hidden state, shape (batch, 128, 768). `mask`: what is added to the scores, shape (batch · heads, 1, 128).
    """
    context = attention(w, f"{name}.attention.self", x, mask, sizes)
    attended = dense(w, f"{name}.attention.output.dense", context, sizes.hidden)
    x = norm(w, f"{name}.attention.output.LayerNorm", attended + x, sizes)
    inner = sym.LeakyReLU(dense(w, f"{name}.intermediate.dense", x, sizes.inner), act_type="gelu")  # by erf
    return norm(w, f"{name}.output.LayerNorm", dense(w, f"{name}.output.dense", inner, sizes.hidden) + x, sizes)


def attention(w: Weights, name: str, x: Symbol, mask: Symbol, sizes: Sizes) -> Symbol:
    """Let every token look at the tokens that are not padding."""
    query, key, value = (
        heads(dense(w, f"{name}.{part}", x, sizes.hidden), sizes.heads) for part in ("query", "key", "value")
    )
    scores = sym.batch_dot(query, key, transpose_b=True) * (1 / math.sqrt(sizes.head))  # (batch · heads, from, to)
    context = sym.batch_dot(sym.softmax(sym.broadcast_add(scores, mask), axis=-1), value)
    apart = sym.reshape(context, shape=(-4, -1, sizes.heads, 0, 0))  # (batch, heads, sequence, head)
    return sym.reshape(sym.transpose(apart, axes=(0, 2, 1, 3)), shape=(0, 0, -3))


def heads(x: Symbol, count: int) -> Symbol:
    """Split (batch, sequence, hidden) into (batch · heads, sequence, head): `batch_dot` takes three dimensions."""
    apart = sym.transpose(sym.reshape(x, shape=(0, 0, count, -1)), axes=(0, 2, 1, 3))
    return sym.reshape(apart, shape=(-3, 0, 0))


def dense(w: Weights, name: str, x: Symbol, width: int) -> Symbol:
    """Apply a dense layer to the last axis."""
    return sym.FullyConnected(x, w[f"{name}.weight"], w[f"{name}.bias"], num_hidden=width, flatten=False)


def norm(w: Weights, name: str, x: Symbol, sizes: Sizes) -> Symbol:
    """Apply LayerNorm over the last axis."""
    return sym.LayerNorm(x, w[f"{name}.weight"], w[f"{name}.bias"], axis=-1, eps=sizes.epsilon)
