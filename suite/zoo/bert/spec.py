"""BERT-base (Devlin et al. 2018): twelve post-norm layers, hidden size 768, twelve heads, sequences of 128.

Names are those of the `transformers` library. There is no pooler: the output is the last hidden state. Here are the
parameters, the inputs and the layers.
"""

from collections.abc import Sequence

import numpy as np

from suite.zoo import bits
from suite.zoo.spec import Layer, Model, Parameter, Tensor, attention, dense
from suite.zoo.training.recipe import AdamW, Errors, Recipe
from suite.zoo.weights import Arrays

LAYERS = 12
HIDDEN = 768
HEADS = 12
HEAD = HIDDEN // HEADS
INNER = 4 * HIDDEN
SEQUENCE = 128
VOCABULARY = 30522
POSITIONS = 512
TYPES = 2
EPSILON = 1e-12
"""Of LayerNorm."""

_STD = 0.02
"""As published; twice as much collapses all tokens onto one direction."""


def _dense(name: str, fan_in: int, fan_out: int) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (fan_out, fan_in), std=_STD), Parameter(f"{name}.bias", (fan_out,), std=_STD)]


def _norm(name: str) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (HIDDEN,), mean=1.0, std=0.1), Parameter(f"{name}.bias", (HIDDEN,), std=0.1)]


def _parameters() -> tuple[Parameter, ...]:
    parameters = [
        Parameter("embeddings.word_embeddings.weight", (VOCABULARY, HIDDEN), std=_STD),
        Parameter("embeddings.position_embeddings.weight", (POSITIONS, HIDDEN), std=_STD),
        Parameter("embeddings.token_type_embeddings.weight", (TYPES, HIDDEN), std=_STD),
        *_norm("embeddings.LayerNorm"),
    ]
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            parameters += _dense(f"{layer}.attention.self.{part}", HIDDEN, HIDDEN)
        parameters += _dense(f"{layer}.attention.output.dense", HIDDEN, HIDDEN)
        parameters += _norm(f"{layer}.attention.output.LayerNorm")
        parameters += _dense(f"{layer}.intermediate.dense", HIDDEN, INNER)
        parameters += _dense(f"{layer}.output.dense", INNER, HIDDEN)
        parameters += _norm(f"{layer}.output.LayerNorm")
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
    parameters=_parameters(),
    source="Devlin et al., arXiv:1810.04805; as in transformers' BertModel without the pooler",
    package="bert",
    short_title="BERT-base",
    batches={"smoke": (4,), "standard": (4,), "full": (4, 8, 16)},
    training_batches={"smoke": (2,), "standard": (2,), "full": (2, 4, 8)},
    reference_batch=8,
    activations=24_000_000,  # of twelve layers of 128 tokens, attention among them
    # Normalisations, the softmax and the residual sums stay in fp32, as is usual: their outliers would cost the answer
    # its meaning.
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

PAD, CLS, SEP = 0, 101, 102
FIRST_WORD = 1000
"""Lower numbers are special and single characters."""
SHORTEST = 32
MASK = 103
"""Word number of [MASK]."""
MASKED = 20
"""Masked words in each sequence: `max_predictions_per_seq` of BERT's published code for sequences of 128.

All of them become [MASK]; the published scheme leaves one in ten as it is and changes another, which costs the same."""


def seeded_input(name: str, tokens: int = SEQUENCE) -> Arrays:
    """Return the input of that name: `input_ids`, `token_type_ids` and `attention_mask`, int32, shape (tokens,).

    Pairs of sentences as a tokenizer gives them: [CLS] first [SEP] second [SEP], padded to their length. Lengths, the
    place of the split and the words differ between inputs; small word numbers are more frequent, as in text.

    Parameters
    ----------
    name
        Of the input.
    tokens
        Of a padded sequence.
    """
    draws = bits.integers(name, tokens + 2)  # 24 bits each
    length = SHORTEST + int(draws[0]) % (tokens - SHORTEST + 1)
    split = length // 4 + int(draws[1]) % (length // 2)  # where the first sentence's [SEP] stands
    position = np.arange(tokens)
    # u² for a uniform u, in integers: a quarter of the vocabulary makes up half of the words.
    squares = (draws[2:] * draws[2:]) >> 24
    ids = FIRST_WORD + ((squares * (VOCABULARY - FIRST_WORD)) >> 24)
    ids[0] = CLS
    ids[[split, length - 1]] = SEP
    real = position < length
    return {
        "input_ids": np.where(real, ids, PAD).astype(np.int32),
        "token_type_ids": (real & (position > split)).astype(np.int32),
        "attention_mask": real.astype(np.int32),
    }


def labelled(inputs: Arrays, names: Sequence[str]) -> Arrays:
    """Return a training batch, in which words of each sequence are masked, chosen without regard to their place.

    Parameters
    ----------
    inputs
        Sequences, as `seeded_input` makes them.
    names
        One for each sequence.

    Returns
    -------
    Arrays
        The inputs with [MASK] in place of the words, and where they stood and what they were: `positions` and `labels`,
        int32, shape (batch, 20).
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


def layers(tokens: int = SEQUENCE) -> tuple[Layer, ...]:
    """Return the lookup of the embeddings, and six dense layers and two products of attention in each of twelve.

    Parameters
    ----------
    tokens
        Of a sequence.
    """
    return (
        _embeddings(tokens),
        *(part for number in range(LAYERS) for part in _layer(f"encoder.layer.{number}", tokens)),
    )


def _embeddings(tokens: int) -> Layer:
    """Return the lookup: of the word table only the rows of the input are read, so they count as activations."""
    return Layer(
        name="embeddings",
        kind="lookup",
        macs=0,
        weights=(tokens + TYPES) * HIDDEN,
        reads=tokens * HIDDEN,
        writes=tokens * HIDDEN,
    )


def _layer(name: str, tokens: int) -> tuple[Layer, ...]:
    return (
        *(dense(f"{name}.attention.self.{part}", tokens, HIDDEN, HIDDEN) for part in ("query", "key", "value")),
        *attention(f"{name}.attention", tokens, HEADS, HIDDEN),
        dense(f"{name}.attention.output.dense", tokens, HIDDEN, HIDDEN),
        dense(f"{name}.intermediate.dense", tokens, HIDDEN, INNER),
        dense(f"{name}.output.dense", tokens, INNER, HIDDEN),
    )
