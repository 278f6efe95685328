"""The losses in NumPy float64, each with its slope: what is at the end of every `backward` module."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]


def binary_cross_entropy(logits: Array, labels: npt.NDArray[Any]) -> tuple[float, Array]:
    """Return mean(log(1 + eᶻ) − y·z) and its slope.

    `labels`: 0 or 1, shape (batch,). Returns the loss, and its derivative by the logits, shape (batch,).
    """
    y = labels.astype(np.float64)
    loss = float(np.mean(np.logaddexp(0, logits) - y * logits))
    probability = np.exp(-np.logaddexp(0, -logits))  # 1 / (1 + e⁻ᶻ) would overflow on its way to zero
    slope: Array = (probability - y) / len(logits)
    return loss, slope


def cross_entropy(logits: Array, labels: npt.NDArray[Any]) -> tuple[float, Array]:
    """Return the mean over rows of −log softmax(logits)[label], and its slope.

    `labels`: class of each row, shape (rows,). Returns the loss, and its derivative by the logits, shape (rows,
    classes).
    """
    rows = np.arange(len(logits))
    shifted = logits - logits.max(axis=1, keepdims=True)
    raised = np.exp(shifted)
    total = raised.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(total[:, 0]) - shifted[rows, labels]))
    slope: Array = raised / total
    slope[rows, labels] -= 1
    return loss, slope / len(logits)
