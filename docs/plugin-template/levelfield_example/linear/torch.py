"""One dense layer in PyTorch; the ONNX file is exported from it."""

import torch
from torch import nn

from levelfield.zoo.spec import Model


class Linear(nn.Module):
    """Parameters are called as the specification calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(10, 64))
        self.bias = nn.Parameter(torch.empty(10))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Compute `scores`, shape (batch, 10), from `features`, shape (batch, 64)."""
        return nn.functional.linear(features, self.weight, self.bias)


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    del model  # there is one size
    return Linear()
