"""MobileNetV2 in PyTorch; channels last where the images and the weights are."""

import torch
from torch import nn

from levelfield.zoo.mobilenet import BASE, Block, Conv, Sizes, blocks, first, last
from levelfield.zoo.spec import Model


class MobileNetV2(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in torchvision."""

    def __init__(self, sizes: Sizes = BASE) -> None:
        super().__init__()
        inner = map(InvertedResidual, blocks(sizes))
        self.features = nn.Sequential(_activated(first(sizes)), *inner, _activated(last(sizes)))
        classifier = nn.Linear(sizes.features, sizes.classes)
        self.classifier = nn.Sequential(nn.Identity(), classifier)  # dropout before it, in training

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


class PaddedBehind(nn.Conv2d):  # type: ignore[misc,unused-ignore]
    """A convolution with one pixel of padding behind the image, and none before it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the convolved image."""
        return super().forward(nn.functional.pad(x, (0, 1, 0, 1)))


def _conv(conv: Conv) -> nn.Conv2d:
    groups = conv.fan[0] if conv.depthwise else 1
    before, after = conv.padding
    kind = nn.Conv2d if before == after else PaddedBehind
    return kind(*conv.fan, conv.kernel, stride=conv.stride, padding=before, groups=groups, bias=False)


def _norm(conv: Conv) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(conv.fan[1], eps=conv.epsilon)


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return MobileNetV2(model.sizes if isinstance(model.sizes, Sizes) else BASE)
