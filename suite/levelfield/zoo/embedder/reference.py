"""The text embedder in NumPy float64."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.bert import reference as bert

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]], *, sizes: Sizes = BASE) -> Array:
    """Compute `sentence_embedding`, shape (batch, 768), of unit length, from three int32 inputs of shape (batch, 128).

    `inputs`: `input_ids`, `token_type_ids` and `attention_mask`, int32, shape (batch, 128).
    """
    hidden = bert.forward(w, inputs, sizes=sizes)
    real = inputs["attention_mask"][:, :, None].astype(np.float64)
    mean = (hidden * real).sum(axis=1) / real.sum(axis=1)
    unit: Array = mean / np.sqrt((mean * mean).sum(axis=-1, keepdims=True))
    return unit
