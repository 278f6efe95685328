"""The digits' MLP in PyTorch."""

import torch
from torch import nn

from suite.zoo.digits_mlp.spec import MODEL, widths
from suite.zoo.mlp.torch import MLP
from suite.zoo.spec import Model


class DigitsMLP(MLP):
    """64-128-64-10: the layers of the MLP, without a sigmoid at the end."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, 10), from `features`, shape (batch, 64)."""
        return self.logits(features)


def build(model: Model = MODEL) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return DigitsMLP(widths(model))
