"""A model's PyTorch module with its weights, as the torch backends and the exporter use it."""

import torch

from suite.zoo.native import definition
from suite.zoo.spec import Model
from suite.zoo.weights import Arrays


def load(model: Model, weights: Arrays) -> torch.nn.Module:
    """Build a model's module in evaluation mode, with copies of the weights in memory of torch's own.

    Parameters
    ----------
    model
        The model.
    weights
        Its float32 weights.

    Raises
    ------
    RuntimeError
        If the weights are not those of the model (torch says which).
    """
    with torch.device("meta"):  # no time is spent on initial values that are replaced at once
        module = definition(model, "torch").build()
    state = {name: torch.tensor(array) for name, array in weights.items()}
    for name in module.state_dict():
        if name.endswith(".num_batches_tracked"):  # BatchNorm's counter, which only training uses
            state[name] = torch.tensor(0)
    module.load_state_dict(state, strict=True, assign=True)
    return module.eval().requires_grad_(requires_grad=False)
