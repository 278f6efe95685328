"""BERT with a head in NumPy float64."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.bert import reference as bert
from levelfield.zoo.berthead import ANSWERS, BASE, CLASSIFIER, POOLER, Sizes

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]], *, sizes: Sizes = BASE) -> Array:
    """Compute what the head whose weights are there gives: (batch, sequence, 2), or (batch, classes).

    `inputs`: `input_ids`, `token_type_ids` and `attention_mask`, int32, shape (batch, sequence).
    """
    hidden = bert.forward(w, inputs, sizes=sizes)
    if f"{ANSWERS}.weight" in w:
        return bert.dense(w, ANSWERS, hidden)
    pooled = np.tanh(bert.dense(w, POOLER, hidden[:, 0]))
    return bert.dense(w, CLASSIFIER, pooled)
