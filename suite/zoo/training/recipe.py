"""Every hyper-parameter of every training step, for all frameworks: nothing is left to a framework's default.

Defaults differ where it hurts. Keras's AdamW has ε = 1e-7 and decay 0.004, torch's 1e-8 and 0.01, and optax decays what
it is told to; Keras puts ε beside the *uncorrected* root, which makes it thirty times larger in the first step; of its
old statistics BatchNorm keeps 0.9 by torch's default `momentum=0.1`, and 0.99 by Keras's and flax's `momentum=0.99`. So
each rule is written down here as arithmetic, and the frameworks are told the numbers.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from suite.zoo.resnet50.spec import EPSILON as BATCH_NORM_EPSILON
from suite.zoo.spec import Model, Parameter

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
    epsilon: float = BATCH_NORM_EPSILON


BATCH_NORM = BatchNorm()


class Recipe(msgspec.Struct, frozen=True):
    """How one model is trained."""

    optimizer: Optimizer
    loss: str
    """In words, for the report; the arithmetic is in each model's `backward` module."""
    trajectory_batch: int
    """Batch of the trajectory that is compared with the reference."""
    source: str


_EPSILON = 1e-6
"""Of both AdamW recipes: that of BERT's own optimizer. It is above the rounding noise of float32 gradients whose true
value is zero (the bias of attention's keys has none: softmax cares for no constant). With 1e-8, Adam would turn that
noise into steps of full length."""

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "mlp": Recipe(
            optimizer=AdamW(learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=_EPSILON, weight_decay=0.01),
            loss="binary cross-entropy of the logit, mean over the batch",
            # Small on purpose: of millions of ReLUs some come so near to zero that rounding turns them on or off.
            trajectory_batch=32,
            source="Adam's published rate and betas (Kingma & Ba, arXiv:1412.6980); epsilon and decay as for BERT",
        ),
        "resnet50": Recipe(
            # The published rate is 0.1, reached from zero in five epochs of 5004 steps: this is that of the tenth step.
            # With higher ones the first ten steps are chaos, in which rounding grows two- to threefold with each.
            optimizer=SGD(learning_rate=4e-5, momentum=0.9, weight_decay=1e-4),
            loss="cross-entropy over 1000 classes, mean over the batch",
            trajectory_batch=2,
            source="He et al., arXiv:1512.03385; the warm-up Goyal et al., arXiv:1706.02677",
        ),
        "bert": Recipe(
            optimizer=AdamW(learning_rate=1e-4, beta1=0.9, beta2=0.999, epsilon=_EPSILON, weight_decay=0.01),
            loss="cross-entropy of 20 masked words a sequence, mean over all masked words; no dropout",
            trajectory_batch=2,
            source="Devlin et al., arXiv:1810.04805, and the epsilon of its published code",
        ),
    }
)


def of(model: str) -> Recipe:
    """Return a model's recipe.

    Raises
    ------
    ValueError
        The model is not one that is trained.
    """
    if model not in RECIPES:
        raise ValueError(f"There is no recipe to train {model!r}; there are {', '.join(RECIPES)}.")
    return RECIPES[model]


def is_statistic(parameter: Parameter) -> bool:
    """Whether a tensor is a running statistic: followed, not trained."""
    return parameter.name.endswith((".running_mean", ".running_var"))


def trained(model: Model) -> tuple[Parameter, ...]:
    """Return the tensors that the optimizer moves, in the order of the specification."""
    return tuple(parameter for parameter in model.parameters if not is_statistic(parameter))


def statistics(model: Model) -> tuple[Parameter, ...]:
    """Return BatchNorm's running statistics, in the order of the specification."""
    return tuple(parameter for parameter in model.parameters if is_statistic(parameter))


def decays(parameter: Parameter) -> bool:
    """Whether weight decay applies: to matrices, kernels and embeddings, not to biases and the scales of norms."""
    return len(parameter.shape) > 1


def describe(rule: Recipe) -> str:
    """Return a recipe's hyper-parameters on one line, for settings and reports.

    Examples
    --------
    >>> describe(RECIPES["resnet50"]).split(";")[0]
    'SGD, learning rate 4e-05, momentum 0.9, weight decay 0.0001 (matrices, kernels and embeddings only)'
    """
    optimizer = rule.optimizer
    values = [f"{name.replace('_', ' ')} {value:g}" for name, value in msgspec.structs.asdict(optimizer).items()]
    decay = "matrices, kernels and embeddings only"
    return f"{type(optimizer).__name__}, {', '.join(values)} ({decay}); {rule.loss}"
