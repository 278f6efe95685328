"""The MLPs in PyTorch."""

import itertools

import torch
from torch import nn

from levelfield.zoo.mlp import widths
from levelfield.zoo.spec import Model
from levelfield.zoo.torch_module import for_loss


class MLP(nn.Module):  # type: ignore[misc,unused-ignore]
    """Dense layers with ReLU between them; a sigmoid at the end where the last width is one."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(widths))
        self.binary = widths[-1] == 1

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Compute the probability, shape (batch, 1), or `logits`, shape (batch, classes), from `features`."""
        z = self.logits(features)
        return torch.sigmoid(z) if self.binary else z

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """Apply all layers, shape (batch, last width)."""
        x = features
        for layer in self.layers[:-1]:
            x = nn.functional.relu(layer(x))
        return self.layers[-1](x)


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return MLP(widths(model))


def prepare(network: nn.Module) -> nn.Module:
    """Set what a layer does differently in training: nothing here."""
    return network


def loss(network: nn.Module, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Compute cross-entropy from the logits, mean over the batch: binary of one logit, else over the classes.

    From probabilities it would lose digits where they saturate.
    """
    z = for_loss(network.logits(features))
    if network.binary:
        return nn.functional.binary_cross_entropy_with_logits(z[:, 0], labels)
    return nn.functional.cross_entropy(z, labels.long())
