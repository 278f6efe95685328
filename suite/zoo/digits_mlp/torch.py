"""The digits' MLP in PyTorch."""

import torch
from torch import nn

from suite.zoo.digits_mlp.spec import WIDTHS
from suite.zoo.mlp.torch import MLP


class DigitsMLP(MLP):
    """64-128-64-10: the layers of the MLP, without a sigmoid at the end."""

    def __init__(self) -> None:
        super().__init__(WIDTHS)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, 10), from `features`, shape (batch, 64)."""
        return self.logits(features)


def build() -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return DigitsMLP()
