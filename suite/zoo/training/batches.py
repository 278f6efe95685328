"""Batches to train on: inputs with labels, the same bits everywhere; item *i* depends on *i* alone.

Labels are seeded and have nothing to do with the inputs: speed and parity do not care. The masked words of BERT are the
words that stood there.
"""

import numpy as np

from suite.zoo import bits
from suite.zoo import inputs as zoo_inputs
from suite.zoo.bert.spec import CLS, SEP
from suite.zoo.resnet50.spec import CLASSES
from suite.zoo.spec import Model
from suite.zoo.weights import SEED, Arrays

MASK = 103
"""BERT's word number of [MASK]."""
MASKED = 20
"""Masked words in each sequence: `max_predictions_per_seq` of BERT's published code for sequences of 128.

All of them become [MASK]; the published scheme leaves one in ten as it is and changes another, which costs the same."""

_LABELS = {"mlp": ("labels",), "resnet50": ("labels",), "bert": ("positions", "labels")}
"""By the package that defines a model."""
_MADE = ("mlp", "resnet50", "bert")
"""Models whose batches are made; those of the others are data."""


def names(model: Model) -> tuple[str, ...]:
    """Return the names of a batch's tensors in the order in which definitions take them: inputs, then labels."""
    return (*(tensor.name for tensor in model.inputs), *_LABELS[model.package])


def make(model: Model, start: int, count: int, *, layout: str = "NCHW") -> Arrays:
    """Make items `start` … `start + count - 1` of a model's training set.

    Parameters
    ----------
    model, start, count, layout
        As `suite.zoo.inputs.make` takes them.

    Returns
    -------
    Arrays
        The inputs, and: `labels` float32 (count,), 0 or 1, for the MLP; `labels` int32 (count,), 0 … 999, for
        ResNet-50; `positions` and `labels` int32 (count, 20), where words are masked and which, for BERT.

    Raises
    ------
    ValueError
        As `suite.zoo.inputs.make`, or the model is not one that is trained on batches made here.
    """
    if model.name not in _MADE:
        raise ValueError(f"{model.title} is not trained.")
    made = zoo_inputs.make(model, start, count, layout=layout)
    streams = [f"{SEED}/{model.name}/labels/{index}" for index in range(start, start + count)]
    if model.name == "mlp":
        made["labels"] = np.array([bits.integers(name, 1, bits=1)[0] for name in streams], dtype=np.float32)
    elif model.name == "resnet50":
        draws = np.array([bits.integers(name, 1)[0] for name in streams])
        made["labels"] = ((draws * CLASSES) >> 24).astype(np.int32)
    else:
        _mask(made, streams)
    return made


def _mask(made: Arrays, streams: list[str]) -> None:
    """Replace words of each sequence, chosen without regard to their place, and keep what stood there."""
    ids = made["input_ids"].copy()
    positions = np.empty((len(ids), MASKED), dtype=np.int32)
    for row, name in enumerate(streams):
        words = np.flatnonzero((made["attention_mask"][row] != 0) & (ids[row] != CLS) & (ids[row] != SEP))
        order = np.argsort(bits.words(name, words.size), kind="stable")
        positions[row] = np.sort(words[order[:MASKED]])
    labels = np.take_along_axis(ids, positions, axis=1)
    np.put_along_axis(ids, positions, MASK, axis=1)
    made |= {"input_ids": ids, "positions": positions, "labels": labels.astype(np.int32)}
