"""The ResNets in PyTorch; channels last where the images and the weights are."""

import torch
from torch import nn

from levelfield.zoo.resnet50 import EPSILON, EXPANSION, Sizes, sizes_of
from levelfield.zoo.spec import Model
from levelfield.zoo.torch_module import for_loss
from levelfield.zoo.training.recipe import BATCH_NORM


class ResNet(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in torchvision."""

    def __init__(self, sizes: Sizes, channels: int, classes: int) -> None:
        super().__init__()
        kernel, padding = sizes.kernel, sizes.kernel // 2
        self.conv1 = nn.Conv2d(channels, sizes.stem, kernel, stride=sizes.stride, padding=padding, bias=False)
        self.bn1 = nn.BatchNorm2d(sizes.stem, eps=EPSILON)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1) if sizes.pooled else None
        channels = sizes.stem
        self.stages = [f"layer{number + 1}" for number in range(len(sizes.stages))]
        for number, (width, _) in enumerate(sizes.stages):
            blocks = []
            for _, stride in sizes.blocks(number):
                blocks.append(Bottleneck(channels, width, stride))
                channels = EXPANSION * width
            self.add_module(self.stages[number], nn.Sequential(*blocks))
        self.fc = nn.Linear(channels, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, classes), from `images`, shape (batch, channels, height, width)."""
        x = nn.functional.relu(self.bn1(self.conv1(images)), inplace=True)
        if self.maxpool is not None:
            x = self.maxpool(x)
        for stage in self.stages:
            x = getattr(self, stage)(x)
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


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    names = {parameter.name for parameter in model.parameters}
    sizes = model.sizes if isinstance(model.sizes, Sizes) else sizes_of(names)
    return ResNet(sizes, channels=model.inputs[0].shape[0], classes=model.output.shape[0])


def prepare(network: nn.Module) -> nn.Module:
    """Tell every BatchNorm how fast to follow the batches: torch's `momentum` is the share of what is new."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = BATCH_NORM.update
            module.eps = BATCH_NORM.epsilon
    return network


def loss(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Compute cross-entropy over the classes, mean over the batch; in training mode BatchNorm follows by itself.

    `images`: float32, shape (batch, channels, height, width). `labels`: classes, int32, shape (batch,).
    """
    return nn.functional.cross_entropy(for_loss(network(images)), labels.long())
