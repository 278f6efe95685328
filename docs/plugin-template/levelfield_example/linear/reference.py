"""One dense layer in NumPy float64: what every backend is compared with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def forward(weights: Mapping[str, npt.NDArray[Any]], inputs: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Compute `scores`, shape (batch, 10), from `features`, shape (batch, 64)."""
    scores: npt.NDArray[np.float64] = inputs["features"].astype(np.float64) @ weights["weight"].T
    return scores + weights["bias"]
