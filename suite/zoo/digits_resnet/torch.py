"""The digits' ResNet in PyTorch."""

import torch
from torch import nn

from suite.zoo.digits_resnet.spec import CLASSES, STAGES, STEM, blocks
from suite.zoo.resnet50.spec import EPSILON, EXPANSION
from suite.zoo.resnet50.torch import Bottleneck


class DigitsResNet(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in torchvision."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, STEM, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(STEM, eps=EPSILON)
        for number in range(1, len(STAGES) + 1):
            stage = [Bottleneck(*rest) for name, *rest in blocks() if name.startswith(f"layer{number}.")]
            self.add_module(f"layer{number}", nn.Sequential(*stage))
        self.fc = nn.Linear(EXPANSION * STAGES[-1][0], CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, 10), from `images`, shape (batch, 1, 8, 8)."""
        x = nn.functional.relu(self.bn1(self.conv1(images)), inplace=True)
        for number in range(1, len(STAGES) + 1):
            x = self.get_submodule(f"layer{number}")(x)
        return self.fc(x.mean((2, 3)))


def build() -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return DigitsResNet()
