"""The canary in NumPy float64."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def forward(weights: Mapping[str, npt.NDArray[Any]], inputs: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Compute `echo`, shape (batch, 513), from `signal`, shape (batch, 512), in float64.

    The first 512 numbers are the signal's way through two matrix products; the last is the mean of the memory, scaled
    by the signal's first element.
    """
    mix, memory = weights["mix"].astype(np.float64), weights["memory"].astype(np.float64)
    echoes = []
    for signal in inputs["signal"].astype(np.float64):
        mixed = (signal[:, None] * mix) @ mix @ mix
        echoes.append(np.append(mixed.sum(axis=0), (memory * signal[0]).mean()))
    return np.stack(echoes)
