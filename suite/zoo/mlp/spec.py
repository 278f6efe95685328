"""The MLP: 200-128-64-32-16-8-1, ReLU between layers, a sigmoid at the end."""

import itertools
import math

from suite.zoo.spec import Model, Parameter, Tensor

WIDTHS = (200, 128, 64, 32, 16, 8, 1)


def _parameters() -> tuple[Parameter, ...]:
    parameters = []
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(WIDTHS)):
        # He et al. 2015: 2/fan_in keeps the activations' size through ReLU layers.
        parameters.append(Parameter(f"layers.{layer}.weight", (fan_out, fan_in), std=math.sqrt(2 / fan_in)))
        parameters.append(Parameter(f"layers.{layer}.bias", (fan_out,), std=0.1))
    return tuple(parameters)


MODEL = Model(
    name="mlp",
    title="MLP 200-128-64-32-16-8-1",
    inputs=(Tensor("features", (WIDTHS[0],), "float32"),),
    output=Tensor("probability", (1,), "float32"),
    parameters=_parameters(),
    source="The published spam-classifier network of seven dense layers",
)
