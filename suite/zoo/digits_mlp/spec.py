"""The MLP for the digits: 64-128-64-10, ReLU between layers; for a user's own images, with other ends."""

import itertools
import math

from suite.zoo.spec import Model, Parameter, Tensor

WIDTHS = (64, 128, 64, 10)
LAYERS = len(WIDTHS) - 1


def widths(model: Model) -> tuple[int, ...]:
    """Return the widths of a model that `sized` made, or of the digits' own."""
    return model.inputs[0].shape[0], *WIDTHS[1:-1], model.output.shape[0]


def sized(name: str, shape: tuple[int, int, int], classes: int) -> Model:
    """Return the MLP for images of another shape (channels, height, width) and another number of classes."""
    return _model(name, (math.prod(shape), *WIDTHS[1:-1], classes))


def _parameters(widths: tuple[int, ...]) -> tuple[Parameter, ...]:
    parameters = []
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        # He et al. 2015; biases begin at zero.
        parameters.append(Parameter(f"layers.{layer}.weight", (fan_out, fan_in), std=math.sqrt(2 / fan_in)))
        parameters.append(Parameter(f"layers.{layer}.bias", (fan_out,)))
    return tuple(parameters)


def _model(name: str, widths: tuple[int, ...]) -> Model:
    return Model(
        name=name,
        title=f"MLP {'-'.join(map(str, widths))}",
        inputs=(Tensor("features", (widths[0],), "float32"),),
        output=Tensor("logits", (widths[-1],), "float32"),
        parameters=_parameters(widths),
        source="Dense layers as in the MLP, for ten classes",
    )


MODEL = _model("digits_mlp", WIDTHS)
