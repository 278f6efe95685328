"""BERT-base (Devlin et al. 2018): twelve post-norm layers, hidden size 768, twelve heads, sequences of 128.

Names are those of the `transformers` library. There is no pooler: the output is the last hidden state. Here are the
parameters, the inputs and the layers.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from levelfield.zoo import bits
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor, attention, dense
from levelfield.zoo.training.recipe import AdamW, Errors, Recipe
from levelfield.zoo.weights import Arrays


class Sizes(msgspec.Struct, frozen=True):
    """Sizes of a BERT; those of BERT-base unless said otherwise."""

    layers: Annotated[int, Meta(ge=1, le=256)] = 12
    hidden: Annotated[int, Meta(ge=1, le=1 << 16)] = 768
    heads: Annotated[int, Meta(ge=1, le=1 << 10)] = 12
    inner: Annotated[int, Meta(ge=1, le=1 << 18)] = 3072
    vocabulary: Annotated[int, Meta(ge=8, le=1 << 24)] = 30522
    positions: Annotated[int, Meta(ge=16, le=1 << 20)] = 512
    types: Annotated[int, Meta(ge=1, le=1 << 10)] = 2
    epsilon: Annotated[float, Meta(gt=0, lt=1)] = 1e-12
    """Of LayerNorm."""

    def __post_init__(self) -> None:
        """Refuse heads that do not divide the width."""
        if self.heads < 1 or self.hidden % self.heads:
            raise ValueError(f"a width of {self.hidden} is not divided into {self.heads} heads")

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.hidden // self.heads

    @property
    def sequence(self) -> int:
        """Tokens of an input: 128, where there are positions for so many."""
        return min(128, self.positions)


BASE = Sizes()
LAYERS = BASE.layers
HIDDEN = BASE.hidden
HEADS = BASE.heads
HEAD = BASE.head
INNER = BASE.inner
SEQUENCE = BASE.sequence
VOCABULARY = BASE.vocabulary
POSITIONS = BASE.positions
TYPES = BASE.types
EPSILON = BASE.epsilon

_STD = 0.02
"""As published; twice as much collapses all tokens onto one direction."""


def _dense(name: str, fan_in: int, fan_out: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (fan_out, fan_in), std=_STD), Parameter(f"{name}.bias", (fan_out,), std=_STD)]


def _norm(name: str, width: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (width,), mean=1.0, std=0.1), Parameter(f"{name}.bias", (width,), std=0.1)]


def _parameters(sizes: Sizes) -> tuple[Parameter, ...]:
    hidden = sizes.hidden
    parameters = [
        Parameter("embeddings.word_embeddings.weight", (sizes.vocabulary, hidden), std=_STD),
        Parameter("embeddings.position_embeddings.weight", (sizes.positions, hidden), std=_STD),
        Parameter("embeddings.token_type_embeddings.weight", (sizes.types, hidden), std=_STD),
        *_norm("embeddings.LayerNorm", hidden),
    ]
    for number in range(sizes.layers):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            parameters += _dense(f"{layer}.attention.self.{part}", hidden, hidden)
        parameters += _dense(f"{layer}.attention.output.dense", hidden, hidden)
        parameters += _norm(f"{layer}.attention.output.LayerNorm", hidden)
        parameters += _dense(f"{layer}.intermediate.dense", hidden, sizes.inner)
        parameters += _dense(f"{layer}.output.dense", sizes.inner, hidden)
        parameters += _norm(f"{layer}.output.LayerNorm", hidden)
    return tuple(parameters)


MODEL = Model(
    name="bert",
    title="BERT-base, sequence 128",
    inputs=(
        Tensor("input_ids", (SEQUENCE,), "int32"),
        Tensor("token_type_ids", (SEQUENCE,), "int32"),
        Tensor("attention_mask", (SEQUENCE,), "int32"),
    ),
    output=Tensor("last_hidden_state", (SEQUENCE, HIDDEN), "float32"),
    parameters=_parameters(BASE),
    source="Devlin et al., arXiv:1810.04805; as in transformers' BertModel without the pooler",
    package="bert",
    short_title="BERT-base",
    batches={"smoke": (4,), "standard": (4,), "full": (4, 8, 16)},
    training_batches={"smoke": (2,), "standard": (2,), "full": (2, 4, 8)},
    reference_batch=8,
    activations=24_000_000,  # of twelve layers of 128 tokens, attention among them
    # Normalisations, the softmax and the residual sums stay in fp32, as is usual: their outliers would cost the answer
    # its meaning.
    mlperf="bert",
    quantized=("Gemm", "MatMul"),
    labels=("positions", "labels"),
    recipe=Recipe(
        # The epsilon is that of BERT's own optimizer. It is above the rounding noise of float32 gradients whose true
        # value is zero (the bias of attention's keys has none: softmax cares for no constant). With 1e-8, Adam would
        # turn that noise into steps of full length.
        optimizer=AdamW(learning_rate=1e-4, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.01),
        loss="cross-entropy of 20 masked words a sequence, mean over all masked words; no dropout",
        trajectory_batch=2,
        source="Devlin et al., arXiv:1810.04805, and the epsilon of its published code",
        sensitivity=Errors(losses=8.98e-9, gradients=2.44e-8, weights=1.09e-6),
        lowered={"bf16": Errors(losses=5.93e-4, gradients=2.30e-3, weights=4.82e-2)},
    ),
)


FAMILY = "BERT"
"""What networks of such layers are called, whatever their size."""


def of_weights(name: str, sizes: Sizes) -> Model:
    """Return the BERT of a user's own weights."""
    tokens = (sizes.sequence,)
    return Model(
        name=name,
        title=f"BERT of {sizes.layers} layers, width {sizes.hidden}, sequence {sizes.sequence}",
        inputs=tuple(msgspec.structs.replace(tensor, shape=tokens) for tensor in MODEL.inputs),
        output=Tensor("last_hidden_state", (sizes.sequence, sizes.hidden), "float32"),
        parameters=_parameters(sizes),
        source=MODEL.source,
        package="bert",
        short_title=FAMILY,
        batches=MODEL.batches,
        by_default=False,
        reference_batch=MODEL.reference_batch,
        activations=sizes.layers * sizes.sequence * (9 * sizes.hidden + 2 * sizes.inner + sizes.heads * sizes.sequence),
        quantized=MODEL.quantized,
        sizes=sizes,
    )


PAD, CLS, SEP = 0, 101, 102
FIRST_WORD = 1000
"""Lower numbers are special and single characters."""
MASK = 103
"""Word number of [MASK]."""
MASKED = 20
"""Masked words in each sequence: `max_predictions_per_seq` of BERT's published code for sequences of 128.

All of them become [MASK]; the published scheme leaves one in ten as it is and changes another, which costs the same."""


def seeded_input(name: str, *, sizes: Sizes = BASE) -> Arrays:
    """Return the input of that name: `input_ids`, `token_type_ids` and `attention_mask`, int32, shape (128,).

    Pairs of sentences as a tokenizer gives them: [CLS] first [SEP] second [SEP], padded to 128. Lengths, the place of
    the split and the words differ between inputs; small word numbers are more frequent, as in text.
    """
    sequence = sizes.sequence
    cls, sep, first = (CLS, SEP, FIRST_WORD) if sizes.vocabulary >= 2 * FIRST_WORD else (1, 2, 4)
    shortest = sequence // 4
    draws = bits.integers(name, sequence + 2)  # 24 bits each
    length = shortest + int(draws[0]) % (sequence - shortest + 1)
    split = length // 4 + int(draws[1]) % (length // 2)  # where the first sentence's [SEP] stands
    position = np.arange(sequence)
    # u² for a uniform u, in integers: a quarter of the vocabulary makes up half of the words.
    squares = (draws[2:] * draws[2:]) >> 24
    ids = first + ((squares * (sizes.vocabulary - first)) >> 24)
    ids[0] = cls
    ids[[split, length - 1]] = sep
    real = position < length
    return {
        "input_ids": np.where(real, ids, PAD).astype(np.int32),
        "token_type_ids": (real & (position > split) & (sizes.types > 1)).astype(np.int32),
        "attention_mask": real.astype(np.int32),
    }


def labelled(inputs: Arrays, names: Sequence[str]) -> Arrays:
    """Return a training batch, in which words of each sequence are masked, chosen without regard to their place.

    Returns the inputs with [MASK] in place of the words, and where they stood and what they were: `positions` and
    `labels`, int32, shape (batch, 20).
    """
    ids = inputs["input_ids"].copy()
    positions = np.empty((len(ids), MASKED), dtype=np.int32)
    for row, name in enumerate(names):
        words = np.flatnonzero((inputs["attention_mask"][row] != 0) & (ids[row] != CLS) & (ids[row] != SEP))
        order = np.argsort(bits.words(name, words.size), kind="stable")
        positions[row] = np.sort(words[order[:MASKED]])
    labels = np.take_along_axis(ids, positions, axis=1)
    np.put_along_axis(ids, positions, MASK, axis=1)
    return inputs | {"input_ids": ids, "positions": positions, "labels": labels.astype(np.int32)}


def layers(*, sizes: Sizes = BASE) -> tuple[Layer, ...]:
    """Return the lookup of the embeddings, and six dense layers and two products of attention in each layer."""
    return (_embeddings(sizes), *(part for at in range(sizes.layers) for part in _layer(f"encoder.layer.{at}", sizes)))


def _embeddings(sizes: Sizes) -> Layer:
    """Return the lookup: of the word table only the rows of the input are read, so they count as activations."""
    return Layer(
        name="embeddings",
        kind="lookup",
        macs=0,
        weights=(sizes.sequence + sizes.types) * sizes.hidden,
        reads=sizes.sequence * sizes.hidden,
        writes=sizes.sequence * sizes.hidden,
    )


def _layer(name: str, sizes: Sizes) -> tuple[Layer, ...]:
    tokens, hidden, inner = sizes.sequence, sizes.hidden, sizes.inner
    return (
        *(dense(f"{name}.attention.self.{part}", tokens, hidden, hidden) for part in ("query", "key", "value")),
        *attention(f"{name}.attention", tokens, sizes.heads, hidden),
        dense(f"{name}.attention.output.dense", tokens, hidden, hidden),
        dense(f"{name}.intermediate.dense", tokens, hidden, inner),
        dense(f"{name}.output.dense", tokens, inner, hidden),
    )
