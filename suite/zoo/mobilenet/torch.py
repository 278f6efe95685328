"""MobileNetV2 in PyTorch; channels last where the images and the weights are."""

import torch
from torch import nn

from suite.zoo.mobilenet.spec import BLOCKS, FEATURES, FIRST, LAST, Block, Conv
from suite.zoo.resnet50.spec import CLASSES, EPSILON
from suite.zoo.spec import Model


class MobileNetV2(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in torchvision."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(_activated(FIRST), *map(InvertedResidual, BLOCKS), _activated(LAST))
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(FEATURES, CLASSES))  # dropout before it, in training

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, 1000), from `images`, shape (batch, 3, 224, 224)."""
        return self.classifier(self.features(images).mean((2, 3)))


class InvertedResidual(nn.Module):  # type: ignore[misc,unused-ignore]
    """Expand, convolve each channel by itself, project, and add the input where the shape stays."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        expand = [] if block.expand is None else [_activated(block.expand)]
        self.conv = nn.Sequential(*expand, _activated(block.depthwise), _conv(block.project), _norm(block.project))
        self.residual = block.residual

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output; height and width are divided by the stride."""
        return x + self.conv(x) if self.residual else self.conv(x)


def _activated(conv: Conv) -> nn.Sequential:
    return nn.Sequential(_conv(conv), _norm(conv), nn.ReLU6(inplace=True))


def _conv(conv: Conv) -> nn.Conv2d:
    groups = conv.fan[0] if conv.depthwise else 1
    return nn.Conv2d(*conv.fan, conv.kernel, stride=conv.stride, padding=conv.kernel // 2, groups=groups, bias=False)


def _norm(conv: Conv) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(conv.fan[1], eps=EPSILON)


def build(_: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return MobileNetV2()
