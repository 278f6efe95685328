"""ResNet-50's training in PyTorch."""

import torch
from torch import nn

from suite.zoo.training.recipe import BATCH_NORM


def prepare(network: nn.Module) -> nn.Module:
    """Tell every BatchNorm how fast to follow the batches: torch's `momentum` is the share of what is new."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = BATCH_NORM.update
            module.eps = BATCH_NORM.epsilon
    return network


def loss(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Compute cross-entropy over the classes, mean over the batch; in training mode BatchNorm follows by itself."""
    return nn.functional.cross_entropy(network(images), labels.long())
