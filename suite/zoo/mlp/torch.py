"""The MLP in PyTorch."""

import itertools

import torch
from torch import nn

from suite.zoo.mlp.spec import WIDTHS


class MLP(nn.Module):  # type: ignore[misc,unused-ignore]
    """200-128-64-32-16-8-1, or dense layers of other widths."""

    def __init__(self, widths: tuple[int, ...] = WIDTHS) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(widths))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Compute the probability, shape (batch, 1), from `features`, shape (batch, 200)."""
        return torch.sigmoid(self.logits(features))

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """Compute what the sigmoid is taken of, shape (batch, last width)."""
        x = features
        for layer in self.layers[:-1]:
            x = nn.functional.relu(layer(x))
        return self.layers[-1](x)


def build() -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return MLP()
