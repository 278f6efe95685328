"""A model of the transformers library with our weights in it."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers import initialization

from levelfield.zoo.weights import Arrays


class Answering(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """A network of the library as a function of the model's inputs, in order; `pick` takes its output."""

    def __init__(
        self, network: torch.nn.Module, names: tuple[str, ...], pick: Callable[[Any], Any], fixed: Mapping[str, object]
    ) -> None:
        super().__init__()
        self.network = network
        self.names = names
        self.pick = pick
        self.fixed = fixed

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the model's output."""
        return self.pick(self.network(**dict(zip(self.names, inputs, strict=True)), **self.fixed))


def filled(kind: Callable[[Any], torch.nn.Module], config: Any, weights: Arrays, names: Mapping[str, str]) -> Any:  # noqa: ANN401
    """Build a network and fill it in.

    Raises RuntimeError: the weights are not those of the network (torch says which).
    """
    with initialization.no_init_weights():
        network = kind(config)
    state = {_there(name, names): torch.tensor(array) for name, array in weights.items()}
    # BatchNorm's counters, which only training uses.
    state |= {name: each for name, each in network.state_dict().items() if name.endswith(".num_batches_tracked")}
    network.load_state_dict(state, strict=True)
    return network.eval().requires_grad_(requires_grad=False)


def _there(name: str, names: Mapping[str, str]) -> str:
    parent, _, part = name.rpartition(".")
    return names[name] if name in names else f"{names.get(parent, parent)}.{part}"
