"""ResNet-50 v1.5: He et al. 2015, with the stride in the 3×3 convolution of a bottleneck instead of its first 1×1.

Names are torchvision's.
"""

import math

import msgspec

from suite.zoo.spec import Model, Parameter, Tensor

SIZE = 224
CLASSES = 1000
EPSILON = 1e-5
"""Of BatchNorm."""
EXPANSION = 4

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Width and number of bottlenecks of `layer1` … `layer4`."""


class Conv(msgspec.Struct, frozen=True):
    """A convolution without bias and the BatchNorm after it."""

    name: str
    norm: str
    fan: tuple[int, int]
    """Channels in and out."""
    kernel: int
    stride: int
    size_out: int
    """Height and width of its output."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates for one image."""
        return self.size_out**2 * self.fan[0] * self.fan[1] * self.kernel**2


def blocks(stage: int) -> tuple[str, ...]:
    """Return the names of a stage's bottlenecks: `layer1.0`, `layer1.1`, … (stages count from 0)."""
    return tuple(f"layer{stage + 1}.{block}" for block in range(STAGES[stage][1]))


def convolutions() -> tuple[Conv, ...]:
    """Return all 53 convolutions in the order data flows."""
    convs = [Conv("conv1", "bn1", (3, 64), 7, 2, SIZE // 2)]
    channels, size = 64, SIZE // 4  # after the max pool
    for stage, (width, _) in enumerate(STAGES):
        for index, block in enumerate(blocks(stage)):
            stride = 2 if stage > 0 and index == 0 else 1
            out, size_in = EXPANSION * width, size
            size //= stride
            convs.append(Conv(f"{block}.conv1", f"{block}.bn1", (channels, width), 1, 1, size_in))
            convs.append(Conv(f"{block}.conv2", f"{block}.bn2", (width, width), 3, stride, size))
            convs.append(Conv(f"{block}.conv3", f"{block}.bn3", (width, out), 1, 1, size))
            if index == 0:
                shortcut = f"{block}.downsample"
                convs.append(Conv(f"{shortcut}.0", f"{shortcut}.1", (channels, out), 1, stride, size))
            channels = out
    return tuple(convs)


def _parameters() -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    for conv in convolutions():
        fan_in = conv.fan[0] * conv.kernel**2
        # He fan-in, but for projections, which no ReLU halves. The last BatchNorm of a bottleneck is scaled down, or
        # activations would grow with every block (to hundreds at the end).
        std = math.sqrt((1 if "downsample" in conv.name else 2) / fan_in)
        gamma = 0.3 if conv.norm.endswith("bn3") else 1.0
        parameters.append(
            Parameter(f"{conv.name}.weight", (conv.fan[1], conv.fan[0], conv.kernel, conv.kernel), std=std)
        )
        parameters.append(Parameter(f"{conv.norm}.weight", (conv.fan[1],), mean=gamma, std=0.1 * gamma))
        parameters.append(Parameter(f"{conv.norm}.bias", (conv.fan[1],), std=0.1))
        parameters.append(Parameter(f"{conv.norm}.running_mean", (conv.fan[1],), std=0.1))
        parameters.append(Parameter(f"{conv.norm}.running_var", (conv.fan[1],), mean=1.0, std=0.1))
    features = EXPANSION * STAGES[-1][0]
    parameters.append(Parameter("fc.weight", (CLASSES, features), std=1 / math.sqrt(features)))
    parameters.append(Parameter("fc.bias", (CLASSES,), std=0.1))
    return tuple(parameters)


MODEL = Model(
    name="resnet50",
    title="ResNet-50 v1.5",
    inputs=(Tensor("images", (3, SIZE, SIZE), "float32"),),
    output=Tensor("logits", (CLASSES,), "float32"),
    parameters=_parameters(),
    source="He et al., arXiv:1512.03385; v1.5 as in torchvision",
)
