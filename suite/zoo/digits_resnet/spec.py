"""A small ResNet for the digits: the bottlenecks of ResNet-50 behind a stem for images of 8×8.

The stem is a 3×3 convolution without stride, and nothing is pooled before the end, as in the CIFAR networks of He et
al. 2015 (section 4.2): 8×8 pixels have none to lose. Names are torchvision's.
"""

import math

from suite.zoo.resnet50.spec import EXPANSION, Conv
from suite.zoo.spec import Model, Parameter, Tensor

SIZE = 8
CLASSES = 10
STEM = 16
"""Channels of the first convolution."""
STAGES = ((16, 1), (32, 1))
"""Width and number of bottlenecks of `layer1` and `layer2`."""


def blocks() -> tuple[tuple[str, int, int, int], ...]:
    """Return every bottleneck: its name, channels in, width, and stride."""
    found = []
    channels = STEM
    for stage, (width, count) in enumerate(STAGES):
        for index in range(count):
            found.append((f"layer{stage + 1}.{index}", channels, width, 2 if stage > 0 and index == 0 else 1))
            channels = EXPANSION * width
    return tuple(found)


def convolutions(channels_in: int = 1, size: int = SIZE) -> tuple[Conv, ...]:
    """Return all convolutions in the order data flows, for square images of so many channels and pixels a side."""
    convs = [Conv("conv1", "bn1", (channels_in, STEM), 3, 1, size)]
    for name, channels, width, stride in blocks():
        out, size_in = EXPANSION * width, size
        size //= stride
        convs.append(Conv(f"{name}.conv1", f"{name}.bn1", (channels, width), 1, 1, size_in))
        convs.append(Conv(f"{name}.conv2", f"{name}.bn2", (width, width), 3, stride, size))
        convs.append(Conv(f"{name}.conv3", f"{name}.bn3", (width, out), 1, 1, size))
        if stride != 1 or channels != out:
            convs.append(Conv(f"{name}.downsample.0", f"{name}.downsample.1", (channels, out), 1, stride, size))
    return tuple(convs)


def _parameters(channels: int, size: int, classes: int) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    for conv in convolutions(channels, size):
        # As training begins everywhere: He fan-in, scales one, shifts zero, statistics of nothing seen.
        std = math.sqrt((1 if "downsample" in conv.name else 2) / (conv.fan[0] * conv.kernel**2))
        shape = (conv.fan[1], conv.fan[0], conv.kernel, conv.kernel)
        parameters.append(Parameter(f"{conv.name}.weight", shape, std=std))
        parameters.append(Parameter(f"{conv.norm}.weight", (conv.fan[1],), mean=1.0))
        parameters.append(Parameter(f"{conv.norm}.bias", (conv.fan[1],)))
        parameters.append(Parameter(f"{conv.norm}.running_mean", (conv.fan[1],)))
        parameters.append(Parameter(f"{conv.norm}.running_var", (conv.fan[1],), mean=1.0))
    features = EXPANSION * STAGES[-1][0]
    parameters.append(Parameter("fc.weight", (classes, features), std=1 / math.sqrt(features)))
    parameters.append(Parameter("fc.bias", (classes,)))
    return tuple(parameters)


def sized(name: str, shape: tuple[int, int, int], classes: int) -> Model:
    """Return the ResNet for images of another shape (channels, height, width: a square) and number of classes."""
    channels, size, _ = shape
    return Model(
        name=name,
        title=f"ResNet of bottlenecks for {size}×{size}",
        inputs=(Tensor("images", shape, "float32"),),
        output=Tensor("logits", (classes,), "float32"),
        parameters=_parameters(channels, size, classes),
        source="Bottlenecks of He et al., arXiv:1512.03385, behind the stem of its section 4.2",
    )


MODEL = sized("digits_resnet", (1, SIZE, SIZE), CLASSES)
