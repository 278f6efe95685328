"""The MLP for the digits: 64-128-64-10, ReLU between layers."""

import itertools
import math

from suite.zoo.spec import Model, Parameter, Tensor

WIDTHS = (64, 128, 64, 10)
LAYERS = len(WIDTHS) - 1


def _parameters() -> tuple[Parameter, ...]:
    parameters = []
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(WIDTHS)):
        # He et al. 2015; biases begin at zero.
        parameters.append(Parameter(f"layers.{layer}.weight", (fan_out, fan_in), std=math.sqrt(2 / fan_in)))
        parameters.append(Parameter(f"layers.{layer}.bias", (fan_out,)))
    return tuple(parameters)


MODEL = Model(
    name="digits_mlp",
    title="MLP 64-128-64-10",
    inputs=(Tensor("features", (WIDTHS[0],), "float32"),),
    output=Tensor("logits", (WIDTHS[-1],), "float32"),
    parameters=_parameters(),
    batches=(64,),
    source="Dense layers as in the MLP, for ten classes",
)
