"""BERT-base in Keras 3, on any of its engines."""

from typing import Any

import keras

from suite.zoo.bert.spec import EPSILON, HEAD, HEADS, HIDDEN, INNER, LAYERS, POSITIONS, SEQUENCE, TYPES, VOCABULARY
from suite.zoo.weights import Arrays


def build(w: Arrays) -> keras.Model:
    """Return the network with its weights: from three int32 inputs of 128 tokens to the last hidden state.

    Parameters
    ----------
    w
        Weights by name, as `suite.zoo.native.channels_last` returns them.
    """
    names = ("input_ids", "token_type_ids", "attention_mask")
    inputs = [keras.Input((SEQUENCE,), dtype="int32", name=name) for name in names]
    input_ids, token_type_ids, attention_mask = inputs
    words = embedding(w, "embeddings.word_embeddings", VOCABULARY, input_ids)
    types = embedding(w, "embeddings.token_type_embeddings", TYPES, token_type_ids)
    positions = Positions()
    x = positions(keras.layers.Add()([words, types]))
    positions.set_weights([w["embeddings.position_embeddings.weight"]])
    x = norm(w, "embeddings.LayerNorm", x)
    mask = keras.ops.cast(keras.ops.expand_dims(attention_mask, 1), "bool")
    for number in range(LAYERS):
        x = layer(w, f"encoder.layer.{number}", x, mask)
    return keras.Model(inputs, x)


class Positions(keras.layers.Layer):  # type: ignore[misc,unused-ignore]
    """Adds the embedding of each token's position."""

    def build(self, input_shape: Any) -> None:  # noqa: ANN401
        """Make the table.

        Parameters
        ----------
        input_shape
            Of the hidden state.
        """
        del input_shape
        self.table = self.add_weight(shape=(POSITIONS, HIDDEN), name="table")

    def call(self, x: Any) -> Any:  # noqa: ANN401
        """Return the hidden state with the positions added."""
        return x + self.table[: x.shape[1]]


def layer(w: Arrays, name: str, x: Any, mask: Any) -> Any:  # noqa: ANN401
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm).

    Parameters
    ----------
    w
        Weights by name, as `suite.zoo.native.channels_last` returns them.
    name
        Prefix of the names of its weights.
    x
        Hidden state, shape (batch, 128, 768).
    mask
        Where a token may be looked at, shape (batch, 1, 128).
    """
    attended = attention(w, f"{name}.attention", x, mask)
    x = norm(w, f"{name}.attention.output.LayerNorm", keras.layers.Add()([x, attended]))
    inner = keras.layers.Activation(exact_gelu)(dense(w, f"{name}.intermediate.dense", INNER, x))
    outer = dense(w, f"{name}.output.dense", HIDDEN, inner)
    return norm(w, f"{name}.output.LayerNorm", keras.layers.Add()([x, outer]))


def exact_gelu(x: Any) -> Any:  # noqa: ANN401
    """Apply GELU by the error function, as BERT has it."""
    return keras.activations.gelu(x, approximate=False)


def attention(w: Arrays, name: str, x: Any, mask: Any) -> Any:  # noqa: ANN401
    """Let every token look at the tokens that are not padding.

    Parameters
    ----------
    w, name, x, mask
        As in `layer`.
    """
    module = keras.layers.MultiHeadAttention(HEADS, HEAD)
    attended = module(x, x, attention_mask=mask)
    split, joined = (HIDDEN, HEADS, HEAD), (HEADS, HEAD, HIDDEN)
    for part in ("query", "key", "value"):
        kernel, bias = w[f"{name}.self.{part}.weight"], w[f"{name}.self.{part}.bias"]
        getattr(module, f"{part}_dense").set_weights([kernel.reshape(split), bias.reshape(HEADS, HEAD)])
    kernel = w[f"{name}.output.dense.weight"].reshape(joined)
    module.output_dense.set_weights([kernel, w[f"{name}.output.dense.bias"]])
    return attended


def dense(w: Arrays, name: str, width: int, x: Any) -> Any:  # noqa: ANN401
    """Apply a dense layer to the last axis.

    Parameters
    ----------
    w, name, x
        As in `layer`.
    width
        Its width.
    """
    module = keras.layers.Dense(width)
    out = module(x)
    module.set_weights([w[f"{name}.weight"], w[f"{name}.bias"]])
    return out


def embedding(w: Arrays, name: str, rows: int, ids: Any) -> Any:  # noqa: ANN401
    """Look up a table.

    Parameters
    ----------
    w, name
        As in `layer`.
    rows
        Of the table.
    ids
        int32, shape (batch, 128).
    """
    module = keras.layers.Embedding(rows, HIDDEN)
    out = module(ids)
    module.set_weights([w[f"{name}.weight"]])
    return out


def norm(w: Arrays, name: str, x: Any) -> Any:  # noqa: ANN401
    """Apply LayerNorm over the last axis.

    Parameters
    ----------
    w, name, x
        As in `layer`.
    """
    module = keras.layers.LayerNormalization(epsilon=EPSILON)
    out = module(x)
    module.set_weights([w[f"{name}.weight"], w[f"{name}.bias"]])
    return out
