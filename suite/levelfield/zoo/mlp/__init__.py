"""The MLPs: their parameters, the inputs of the one that is benchmarked, and its layers.

The published network, 200-128-64-32-16-8-1, gives a probability: its only logit goes through a sigmoid. The small one
for the digits, 64-128-64-10, gives a logit for each class. The definitions
take both: how many layers there are, and what they give, follows from the weights.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from levelfield.zoo import bits
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor, dense
from levelfield.zoo.training.recipe import AdamW, Errors, Goal, Recipe
from levelfield.zoo.weights import SEED, Arrays

WIDTHS = (200, 128, 64, 32, 16, 8, 1)
DIGITS_WIDTHS = (64, 128, 64, 10)


def widths(model: Model) -> tuple[int, ...]:
    """Return the widths of a model's layers, that of its input first."""
    matrices = [each.shape for each in model.parameters if each.name.endswith(".weight")]
    return (matrices[0][1], *(fan_out for fan_out, _ in matrices))


def _parameters(widths: tuple[int, ...], bias_std: float) -> tuple[Parameter, ...]:
    parameters = []
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        # He et al. 2015: 2/fan_in keeps the activations' size through ReLU layers.
        parameters.append(Parameter(f"layers.{layer}.weight", (fan_out, fan_in), std=math.sqrt(2 / fan_in)))
        parameters.append(Parameter(f"layers.{layer}.bias", (fan_out,), std=bias_std))
    return tuple(parameters)


MODEL = Model(
    name="mlp",
    title="MLP 200-128-64-32-16-8-1",
    inputs=(Tensor("features", (WIDTHS[0],), "float32"),),
    output=Tensor("probability", (1,), "float32"),
    parameters=_parameters(WIDTHS, bias_std=0.1),
    source="The published spam-classifier network of six dense layers",
    package="mlp",
    short_title="MLP",
    batches={"smoke": (1000,), "standard": (1000,), "full": (100, 1000, 10000)},
    training_batches={"smoke": (1000,), "standard": (1000,), "full": (100, 1000, 10000)},
    small=True,
    dataset_items=20_000,
    reference_batch=4096,
    activations=448,
    quantized=("Gemm", "MatMul"),
    recipe=Recipe(
        optimizer=AdamW(learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.01),
        loss="binary cross-entropy of the logit, mean over the batch",
        # Small on purpose: of millions of ReLUs some come so near to zero that rounding turns them on or off.
        trajectory_batch=32,
        source="Adam's published rate and betas (Kingma & Ba, arXiv:1412.6980); epsilon and decay as for BERT",
        sensitivity=Errors(losses=4.10e-8, gradients=8.53e-8, weights=2.61e-6),
        lowered={
            "bf16": Errors(losses=1.85e-2, gradients=1.47e-2, weights=3.87e-1),
            "fp16": Errors(losses=6.76e-3, gradients=3.91e-3, weights=2.90e-1),
        },
    ),
    goal=Goal(
        network="digits_mlp",
        title="small MLP",
        optimizer=AdamW(learning_rate=3e-3, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.01),
        batch=64,
        steps=600,
        every=10,
        target=0.97,
        sensitivity=1.05e-7,
        lowered={"bf16": 9.86e-3, "fp16": 4.55e-3},
    ),
)


DIGITS = Model(
    name="digits_mlp",
    title=f"MLP {'-'.join(map(str, DIGITS_WIDTHS))}",
    inputs=(Tensor("features", DIGITS_WIDTHS[:1], "float32"),),
    output=Tensor("logits", DIGITS_WIDTHS[-1:], "float32"),
    parameters=_parameters(DIGITS_WIDTHS, bias_std=0.0),  # as training begins everywhere
    source="Dense layers as in the MLP, for ten classes",
    package="mlp",
)


def seeded_input(name: str) -> Arrays:
    """Return the input of that name: `features`, shape (200,), standard deviation near one.

    Vectors along a common direction, more or less, with noise: the two classes of a classifier and between.
    """
    direction = bits.symmetric(f"{SEED}/mlp/direction", (WIDTHS[0],))
    values = bits.symmetric(name, (WIDTHS[0] + 1,))
    # How far along the direction: −2 … 2. Products and sums are single IEEE operations, each rounded once.
    strength = values[0] * np.float32(2)
    return {"features": values[1:] + strength * direction}


def labelled(inputs: Arrays, names: Sequence[str]) -> Arrays:
    """Return a training batch: inputs with `labels`, 0 or 1, float32, shape (batch,); one name for each."""
    return inputs | {"labels": np.array([bits.integers(name, 1, bits=1)[0] for name in names], dtype=np.float32)}


def layers() -> tuple[Layer, ...]:
    """Return the six dense layers of the benchmarked network, in the order data flows."""
    return tuple(
        dense(f"layers.{number}", 1, fan_in, fan_out)
        for number, (fan_in, fan_out) in enumerate(itertools.pairwise(WIDTHS))
    )
