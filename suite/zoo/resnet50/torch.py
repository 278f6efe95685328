"""ResNet-50 v1.5 in PyTorch; channels last where the images and the weights are."""

import torch
from torch import nn

from suite.zoo.resnet50.spec import CLASSES, EPSILON, EXPANSION, STAGES


class ResNet50(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in torchvision."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64, eps=EPSILON)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        channels = 64
        for number, (width, count) in enumerate(STAGES):
            blocks = []
            for index in range(count):
                blocks.append(Bottleneck(channels, width, stride=2 if number > 0 and index == 0 else 1))
                channels = EXPANSION * width
            self.add_module(f"layer{number + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(channels, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, 1000), from `images`, shape (batch, 3, 224, 224)."""
        x = self.maxpool(nn.functional.relu(self.bn1(self.conv1(images)), inplace=True))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Bottleneck(nn.Module):  # type: ignore[misc,unused-ignore]
    """1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = EXPANSION * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width, eps=EPSILON)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width, eps=EPSILON)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out, eps=EPSILON)
        self.downsample = None
        if stride != 1 or channels != out:
            projection = nn.Conv2d(channels, out, 1, stride=stride, bias=False)
            self.downsample = nn.Sequential(projection, nn.BatchNorm2d(out, eps=EPSILON))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output; height and width are divided by the stride."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = nn.functional.relu(self.bn1(self.conv1(x)), inplace=True)
        x = nn.functional.relu(self.bn2(self.conv2(x)), inplace=True)
        return nn.functional.relu(self.bn3(self.conv3(x)) + shortcut, inplace=True)


def build() -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return ResNet50()
