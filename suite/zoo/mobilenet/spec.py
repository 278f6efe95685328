"""MobileNetV2 (Sandler et al. 2018): inverted residuals, whose 3×3 convolutions take each channel by itself.

Names are torchvision's. Here are the convolutions, the parameters, the inputs and the layers.
"""

import itertools
import math

import msgspec

from suite.zoo.resnet50.spec import CLASSES, SHAPE
from suite.zoo.resnet50.spec import seeded_input as seeded_image
from suite.zoo.spec import Layer, Model, Parameter, Tensor, dense
from suite.zoo.weights import Arrays

STEM = 32
FEATURES = 1280
"""Channels that the classifier is given."""
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, number of blocks and first stride, as in table 2 of the paper."""


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
    depthwise: bool = False
    """Each channel has a kernel of its own."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return that of its kernel."""
        return self.fan[1], 1 if self.depthwise else self.fan[0], self.kernel, self.kernel

    @property
    def macs(self) -> int:
        """Multiply-accumulates for one image."""
        return self.size_out**2 * math.prod(self.shape)


class Block(msgspec.Struct, frozen=True):
    """An inverted residual: expand, convolve each channel, project; the input is added where the shape stays."""

    expand: Conv | None
    """None: the first block's input is not expanded."""
    depthwise: Conv
    project: Conv
    residual: bool


def _block(number: int, channels: int, out: int, expansion: int, stride: int, size: int) -> Block:
    name, inner, after = f"features.{number}.conv", expansion * channels, size // stride
    expand = None if expansion == 1 else Conv(f"{name}.0.0", f"{name}.0.1", (channels, inner), 1, 1, size)
    first = 0 if expand is None else 1
    return Block(
        expand=expand,
        depthwise=Conv(f"{name}.{first}.0", f"{name}.{first}.1", (inner, inner), 3, stride, after, depthwise=True),
        project=Conv(f"{name}.{first + 1}", f"{name}.{first + 2}", (inner, out), 1, 1, after),
        residual=stride == 1 and channels == out,
    )


def _blocks() -> tuple[Block, ...]:
    blocks: list[Block] = []
    channels, size = STEM, SHAPE[1] // 2
    for expansion, out, count, first_stride in STAGES:
        for stride in (first_stride, *itertools.repeat(1, count - 1)):
            blocks.append(_block(len(blocks) + 1, channels, out, expansion, stride, size))
            channels, size = out, size // stride
    return tuple(blocks)


FIRST = Conv("features.0.0", "features.0.1", (SHAPE[0], STEM), 3, 2, SHAPE[1] // 2)
BLOCKS = _blocks()
LAST = Conv("features.18.0", "features.18.1", (STAGES[-1][1], FEATURES), 1, 1, BLOCKS[-1].project.size_out)


def convolutions() -> tuple[Conv, ...]:
    """Return all convolutions in the order data flows."""
    inner = (conv for each in BLOCKS for conv in (each.expand, each.depthwise, each.project) if conv is not None)
    return (FIRST, *inner, LAST)


def _parameters() -> tuple[Parameter, ...]:
    projections = {block.project.name for block in BLOCKS}
    parameters: list[Parameter] = []
    for conv in convolutions():
        # He fan-in, but for projections, which no ReLU halves.
        gain = 1 if conv.name in projections else 2
        parameters.append(Parameter(f"{conv.name}.weight", conv.shape, std=math.sqrt(gain / math.prod(conv.shape[1:]))))
        parameters.append(Parameter(f"{conv.norm}.weight", (conv.fan[1],), mean=1.0, std=0.1))
        parameters.append(Parameter(f"{conv.norm}.bias", (conv.fan[1],), std=0.1))
        parameters.append(Parameter(f"{conv.norm}.running_mean", (conv.fan[1],), std=0.1))
        parameters.append(Parameter(f"{conv.norm}.running_var", (conv.fan[1],), mean=1.0, std=0.1))
    parameters.append(Parameter("classifier.1.weight", (CLASSES, FEATURES), std=1 / math.sqrt(FEATURES)))
    parameters.append(Parameter("classifier.1.bias", (CLASSES,), std=0.1))
    return tuple(parameters)


MODEL = Model(
    name="mobilenet",
    title="MobileNetV2, 224 × 224",
    inputs=(Tensor("images", SHAPE, "float32"),),
    output=Tensor("logits", (CLASSES,), "float32"),
    parameters=_parameters(),
    source="Sandler et al., arXiv:1801.04381; as in torchvision",
    package="mobilenet",
    short_title="MobileNetV2",
    batches={"smoke": (4,), "standard": (8,), "full": (8, 16, 32)},
    by_default=False,
    reference_batch=4,
    activations=6_700_000,  # of the convolutions, at 224 × 224
    quantized=("Conv", "Gemm", "MatMul", "Add", "Clip", "GlobalAveragePool"),
)


def seeded_input(name: str) -> Arrays:
    """Return the input of that name: `images`, shape (3, 224, 224), as ResNet-50's are."""
    return seeded_image(name)


def layers() -> tuple[Layer, ...]:
    """Return the 52 convolutions, each with the BatchNorm after it, and the classifier, as data flows."""
    return (*map(_convolution, convolutions()), dense("classifier.1", 1, FEATURES, CLASSES))


def _convolution(conv: Conv) -> Layer:
    stride = f", stride {conv.stride}" if conv.stride > 1 else ""
    depthwise = ", depthwise" if conv.depthwise else ""
    return Layer(
        name=conv.name,
        kind=f"convolution {conv.kernel}×{conv.kernel}{depthwise}{stride}",
        macs=conv.macs,
        # BatchNorm folds into the kernel and one bias a channel, as every inference engine does it.
        weights=math.prod(conv.shape) + conv.fan[1],
        reads=(conv.size_out * conv.stride) ** 2 * conv.fan[0],
        writes=conv.size_out**2 * conv.fan[1],
    )
