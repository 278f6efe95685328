"""The digits' ResNet in PyTorch."""

import torch
from torch import nn

from suite.zoo.digits_resnet.spec import MODEL, STAGES, STEM, blocks
from suite.zoo.resnet50.spec import EPSILON, EXPANSION
from suite.zoo.resnet50.torch import Bottleneck
from suite.zoo.spec import Model


class DigitsResNet(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in torchvision."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, STEM, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(STEM, eps=EPSILON)
        for number in range(1, len(STAGES) + 1):
            stage = [Bottleneck(*rest) for name, *rest in blocks() if name.startswith(f"layer{number}.")]
            self.add_module(f"layer{number}", nn.Sequential(*stage))
        self.fc = nn.Linear(EXPANSION * STAGES[-1][0], classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, 10), from `images`, shape (batch, 1, 8, 8)."""
        x = nn.functional.relu(self.bn1(self.conv1(images)), inplace=True)
        for number in range(1, len(STAGES) + 1):
            x = self.get_submodule(f"layer{number}")(x)
        return self.fc(x.mean((2, 3)))


def build(model: Model = MODEL) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return DigitsResNet(model.inputs[0].shape[0], model.output.shape[0])
