"""BERT-base in Keras 3, on any of its engines."""

from typing import Any

import keras

from levelfield.zoo.bert import EPSILON, HEAD, HEADS, HIDDEN, INNER, LAYERS, POSITIONS, SEQUENCE, TYPES, VOCABULARY
from levelfield.zoo.native import fill
from levelfield.zoo.weights import Arrays

WORDS = "word_embeddings"
"""Name of the layer whose table is also the head in training."""


def build(w: Arrays) -> keras.Model:
    """Return the network with its weights: from three int32 inputs of 128 tokens to the last hidden state."""
    names = ("input_ids", "token_type_ids", "attention_mask")
    inputs = [keras.Input((SEQUENCE,), dtype="int32", name=name) for name in names]
    input_ids, token_type_ids, attention_mask = inputs
    table = keras.layers.ReversibleEmbedding(VOCABULARY, HIDDEN, name=WORDS)
    words = table(input_ids)
    fill(table, w, "embeddings.word_embeddings.weight")
    types = embedding(w, "embeddings.token_type_embeddings", TYPES, token_type_ids)
    positions = Positions(name="position_embeddings")
    x = positions(keras.layers.Add()([words, types]))
    fill(positions, w, "embeddings.position_embeddings.weight")
    x = norm(w, "embeddings.LayerNorm", x)
    mask = keras.ops.cast(keras.ops.expand_dims(attention_mask, 1), "bool")
    for number in range(LAYERS):
        x = layer(w, f"encoder.layer.{number}", x, mask)
    return keras.Model(inputs, x)


def trainable(w: Arrays) -> tuple[keras.Model, keras.Model, Any]:
    """Return the network that is trained, the one that answers with the same variables, and the loss.

    The head is the table of embeddings, asked for the masked words alone.
    """
    network = build(w)
    positions = keras.Input((None,), dtype="int32", name="positions")
    masked = keras.ops.take_along_axis(network.output, keras.ops.expand_dims(positions, -1), axis=1)
    logits = network.get_layer(WORDS)(masked, reverse=True)
    trained = keras.Model([*network.inputs, positions], logits)
    return trained, network, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class Positions(keras.layers.Layer):  # type: ignore[misc,unused-ignore]
    """Adds the embedding of each token's position."""

    def build(self, input_shape: Any) -> None:  # noqa: ANN401
        """Make the table."""
        del input_shape
        self.table = self.add_weight(shape=(POSITIONS, HIDDEN), name="table")

    def call(self, x: Any) -> Any:  # noqa: ANN401
        """Return the hidden state with the positions added."""
        return x + self.table[: x.shape[1]]


def layer(w: Arrays, name: str, x: Any, mask: Any) -> Any:  # noqa: ANN401
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm).

    `x`: hidden state, shape (batch, 128, 768). `mask`: where a token may be looked at, shape (batch, 1, 128).
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
    """Let every token look at the tokens that are not padding."""
    module = keras.layers.MultiHeadAttention(HEADS, HEAD)
    attended = module(x, x, attention_mask=mask)
    for part in ("query", "key", "value"):
        fill(getattr(module, f"{part}_dense"), w, f"{name}.self.{part}.weight", f"{name}.self.{part}.bias")
    fill(module.output_dense, w, f"{name}.output.dense.weight", f"{name}.output.dense.bias")
    return attended


def dense(w: Arrays, name: str, width: int, x: Any) -> Any:  # noqa: ANN401
    """Apply a dense layer to the last axis."""
    module = keras.layers.Dense(width)
    out = module(x)
    fill(module, w, f"{name}.weight", f"{name}.bias")
    return out


def embedding(w: Arrays, name: str, rows: int, ids: Any) -> Any:  # noqa: ANN401
    """Look up a table. `ids`: int32, shape (batch, 128)."""
    module = keras.layers.Embedding(rows, HIDDEN)
    out = module(ids)
    fill(module, w, f"{name}.weight")
    return out


def norm(w: Arrays, name: str, x: Any) -> Any:  # noqa: ANN401
    """Apply LayerNorm over the last axis."""
    module = keras.layers.LayerNormalization(epsilon=EPSILON)
    out = module(x)
    fill(module, w, f"{name}.weight", f"{name}.bias")
    return out
