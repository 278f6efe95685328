"""The losses, each with its slope, and the optimizers in NumPy float64: their definition (`zoo.training.recipe`)."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.spec import Model
from levelfield.zoo.training.recipe import SGD, AdamW, Optimizer

Array: TypeAlias = npt.NDArray[np.float64]
Tensors: TypeAlias = dict[str, Array]

_CHUNK = 1 << 15
"""Elements that AdamW updates at a time, so that its intermediate results stay in a cache."""


class Updater:
    """One optimizer and its state; weights are changed in place."""

    def __init__(self, model: Model, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._decays = {parameter.name: parameter.decays for parameter in model.trained}
        self._first: Tensors = {}
        """Momentum, or Adam's first moment."""
        self._second: Tensors = {}
        self._step = 0

    def update(self, weights: Tensors, gradients: Mapping[str, Array]) -> None:
        """Take one step, changing the weights in place."""
        self._step += 1
        for name, decay in self._decays.items():
            match self._optimizer:
                case SGD() as rule:
                    self._sgd(rule, name, weights[name], gradients[name], decay=decay)
                case AdamW() as rule:
                    self._adamw(rule, name, weights[name], gradients[name], decay=decay)

    def _sgd(self, rule: SGD, name: str, w: Array, g: Array, *, decay: bool) -> None:
        if name not in self._first:
            self._first[name] = np.zeros_like(w)
        b = self._first[name]
        b *= rule.momentum
        b += g
        if decay:
            b += rule.weight_decay * w
        w -= rule.learning_rate * b

    def _adamw(self, rule: AdamW, name: str, w: Array, g: Array, *, decay: bool) -> None:
        if name not in self._first:
            self._first[name], self._second[name] = np.zeros_like(w), np.zeros_like(w)
        flat = (each.reshape(-1, copy=False) for each in (w, self._first[name], self._second[name]))
        arrays = (*flat, g.reshape(-1))
        for start in range(0, w.size, _CHUNK):
            self._adamw_of(rule, *(each[start : start + _CHUNK] for each in arrays), decay=decay)

    def _adamw_of(self, rule: AdamW, w: Array, m: Array, v: Array, g: Array, *, decay: bool) -> None:
        m *= rule.beta1
        m += (1 - rule.beta1) * g
        v *= rule.beta2
        v += (1 - rule.beta2) * g * g
        if decay:
            w *= 1 - rule.learning_rate * rule.weight_decay
        corrected = np.sqrt(v / (1 - rule.beta2**self._step))
        corrected += rule.epsilon
        w -= rule.learning_rate / (1 - rule.beta1**self._step) * m / corrected


def binary_cross_entropy(logits: Array, labels: npt.NDArray[Any]) -> tuple[float, Array]:
    """Return mean(log(1 + eᶻ) − y·z) over logits of shape (batch,), and its slope."""
    y = labels.astype(np.float64)
    loss = float(np.mean(np.logaddexp(0, logits) - y * logits))
    probability = np.exp(-np.logaddexp(0, -logits))  # 1 / (1 + e⁻ᶻ) would overflow on its way to zero
    slope: Array = (probability - y) / len(logits)
    return loss, slope


def cross_entropy(logits: Array, labels: npt.NDArray[Any]) -> tuple[float, Array]:
    """Return the mean over rows of −log softmax(logits)[label], and its slope, shape (rows, classes)."""
    rows = np.arange(len(logits))
    shifted = logits - logits.max(axis=1, keepdims=True)
    raised = np.exp(shifted)
    total = raised.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(total[:, 0]) - shifted[rows, labels]))
    slope: Array = raised / total
    slope[rows, labels] -= 1
    return loss, slope / len(logits)
