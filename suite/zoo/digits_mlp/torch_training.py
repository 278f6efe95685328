"""The training of the digits' MLP in PyTorch: the loss is ResNet-50's."""

from suite.zoo.mlp.torch_training import prepare
from suite.zoo.resnet50.torch_training import loss

__all__ = ["loss", "prepare"]
