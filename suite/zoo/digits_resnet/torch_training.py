"""The training of the digits' ResNet in PyTorch: that of ResNet-50."""

from suite.zoo.resnet50.torch_training import loss, prepare

__all__ = ["loss", "prepare"]
