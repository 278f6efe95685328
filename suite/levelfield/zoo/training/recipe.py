"""How a model is trained: every hyper-parameter, for all frameworks; nothing is left to a framework's default.

Defaults differ where it hurts. Keras's AdamW has ε = 1e-7 and decay 0.004, torch's 1e-8 and 0.01, and optax decays what
its mask selects; Keras puts ε beside the *uncorrected* root, which makes it thirty times larger in the first step; of
its old statistics BatchNorm keeps 0.9 by torch's default `momentum=0.1`, and 0.99 by Keras's and flax's
`momentum=0.99`. So each rule is written down here as arithmetic, and the frameworks are given the numbers.
"""

from typing import TypeAlias

import msgspec

STEPS = 10
"""Length of the trajectory that is compared with the reference."""


class SGD(msgspec.Struct, frozen=True):
    """Stochastic gradient descent with momentum, as in Sutskever et al. 2013 without their Nesterov step.

    d = g + weight_decay·w for weights that decay, else g; b = momentum·b + d, with b = 0 before the first step (no
    dampening); w = w − learning_rate·b. The decay is coupled: it goes through the momentum.
    """

    learning_rate: float
    momentum: float
    weight_decay: float


class AdamW(msgspec.Struct, frozen=True):
    """Adam with decoupled weight decay (Loshchilov & Hutter, arXiv:1711.05101, with a constant schedule).

    m = β₁·m + (1 − β₁)·g; v = β₂·v + (1 − β₂)·g²; at step t = 1, 2, … m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ);
    w = w − learning_rate·weight_decay·w (weights that decay only) − learning_rate·m̂ / (√v̂ + ε). So ε stands outside the
    root and beside the *corrected* moment.
    """

    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float


Optimizer: TypeAlias = SGD | AdamW


class BatchNorm(msgspec.Struct, frozen=True):
    """How BatchNorm trains: normalise by the batch's mean and biased variance, and follow them with running ones.

    running = (1 − update)·running + update·new, where the new variance is the *unbiased* one, n / (n − 1) times the
    biased one: what torch and TensorFlow's fused kernel do. (flax and Keras's unfused layer follow the biased one.)
    """

    update: float = 0.1
    """torch's `momentum`, and one minus that of Keras and flax."""
    epsilon: float = 1e-5


BATCH_NORM = BatchNorm()


class Errors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a trajectory is from another, relative; infinite where it holds NaN or infinity, or is another one."""

    losses: float
    """The largest of the ten steps."""
    gradients: float
    """‖norms − reference‖₂ / ‖reference‖₂."""
    weights: float
    """The same of the changes' sums."""
    statistics: float | None = None
    """The same; None where the model has no statistics."""


class Recipe(msgspec.Struct, frozen=True):
    """How one model is trained."""

    optimizer: Optimizer
    loss: str
    """In words, for the report; the arithmetic is in each model's `backward` module."""
    trajectory_batch: int
    """Batch of the trajectory that is compared with the reference."""
    source: str
    sensitivity: Errors
    """The reference's own at that batch, as `zoo.training.parity.sensitivity` finds it: the largest over the
    draws."""
    lowered: dict[str, Errors] = {}
    """The same in lower precisions; in others it is not trained."""


class Goal(msgspec.Struct, frozen=True):
    """How one network is trained, and until when."""

    network: str
    """Name of its model."""
    title: str
    """As people write it in a sentence: `two-bottleneck ResNet`."""
    optimizer: Optimizer
    batch: int
    steps: int
    """Training goes on so long whatever is reached, so that curves have one length; who is not there by then has not
    reached the target."""
    every: int
    """Steps between two evaluations."""
    target: float
    """Share of the test images that must be classified correctly."""
    sensitivity: float
    """Of the reference on the digits, as `zoo.training.convergence.sensitivity` finds it."""
    lowered: dict[str, float] = {}
    """The same in lower precisions; in others it is not trained."""

    @property
    def loss(self) -> str:
        """In words, for the report."""
        return "cross-entropy over 10 classes, mean over the batch"


def describe(rule: Recipe | Goal) -> str:
    """Return all hyper-parameters and the loss on one line, for settings and reports.

    Examples
    --------
    >>> from levelfield.zoo import models
    >>> describe(models.recipe("resnet50")).split(";")[0]
    'SGD, learning rate 4e-05, momentum 0.9, weight decay 0.0001 (matrices, kernels and embeddings only)'
    """
    optimizer = rule.optimizer
    values = [f"{name.replace('_', ' ')} {value:g}" for name, value in msgspec.structs.asdict(optimizer).items()]
    decay = "matrices, kernels and embeddings only"
    text = f"{type(optimizer).__name__}, {', '.join(values)} ({decay}); {rule.loss}"
    if isinstance(rule, Goal):
        text += f"; batch {rule.batch}, {rule.steps} steps, evaluated every {rule.every}"
    return text
