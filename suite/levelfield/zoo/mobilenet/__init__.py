"""MobileNetV2 (Sandler et al. 2018): inverted residuals, whose 3×3 convolutions take each channel by itself.

Names are torchvision's. Here are the convolutions, the parameters, the inputs and the layers.
"""

import functools
import itertools
import math
from typing import Annotated

import msgspec
from msgspec import Meta

from levelfield.zoo.resnet50 import EPSILON, seeded_image
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor, dense
from levelfield.zoo.weights import Arrays

STEM = 32
FEATURES = 1280
"""Channels that the classifier is given."""
DIVISOR = 8
"""Every number of channels is a multiple of it."""
SMALLEST = 32
"""Images are halved five times."""
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, number of blocks and first stride, as in table 2 of the paper."""


class Sizes(msgspec.Struct, frozen=True):
    """Sizes of a MobileNetV2; the published ones unless said otherwise."""

    width: Annotated[float, Meta(gt=0, le=4)] = 1.0
    """Multiplier of the numbers of channels."""
    size: Annotated[int, Meta(ge=SMALLEST, le=2048, multiple_of=SMALLEST)] = 224
    """Height and width of an image."""
    classes: Annotated[int, Meta(ge=1, le=1 << 20)] = 1000
    epsilon: Annotated[float, Meta(gt=0, lt=1)] = EPSILON
    """Of BatchNorm."""
    same: bool = False
    """Padding as TensorFlow's "SAME" has it: of a stride of 2, only behind the image."""

    def channels(self, count: int) -> int:
        """Return how many channels there are in the place of so many, as the published code rounds them."""
        return _divisible(round(count * self.width))

    @property
    def features(self) -> int:
        """Channels that the classifier is given: a narrow network has as many as the usual one."""
        return FEATURES if self.width < 1 else self.channels(FEATURES)


def _divisible(channels: int) -> int:
    """Round to a multiple of 8, by no more than a tenth down (`_make_divisible` of the published code)."""
    rounded = max(DIVISOR, int(channels + DIVISOR / 2) // DIVISOR * DIVISOR)
    return rounded + DIVISOR if rounded < 0.9 * channels else rounded


BASE = Sizes()


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
    same: bool = False
    """Padding as `Sizes` has it."""
    epsilon: float = EPSILON
    """Of the BatchNorm."""

    @property
    def padding(self) -> tuple[int, int]:
        """Pixels before and behind the image, in both directions."""
        if not self.same:
            return self.kernel // 2, self.kernel // 2
        around = max(self.kernel - self.stride, 0)  # of images that the stride divides
        return around // 2, around - around // 2

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


def _block(number: int, channels: int, out: int, expansion: int, stride: int, size: int, sizes: Sizes) -> Block:
    conv = functools.partial(Conv, same=sizes.same, epsilon=sizes.epsilon)
    name, after = f"features.{number}.conv", size // stride
    inner = channels if expansion == 1 else _divisible(expansion * channels)
    expand = None if expansion == 1 else conv(f"{name}.0.0", f"{name}.0.1", (channels, inner), 1, 1, size)
    first = 0 if expand is None else 1
    return Block(
        expand=expand,
        depthwise=conv(f"{name}.{first}.0", f"{name}.{first}.1", (inner, inner), 3, stride, after, depthwise=True),
        project=conv(f"{name}.{first + 1}", f"{name}.{first + 2}", (inner, out), 1, 1, after),
        residual=stride == 1 and channels == out,
    )


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the inverted residuals in the order data flows."""
    found: list[Block] = []
    channels, size = sizes.channels(STEM), sizes.size // 2
    for expansion, published, count, first_stride in STAGES:
        out = sizes.channels(published)
        for stride in (first_stride, *itertools.repeat(1, count - 1)):
            found.append(_block(len(found) + 1, channels, out, expansion, stride, size, sizes))
            channels, size = out, size // stride
    return tuple(found)


def first(sizes: Sizes) -> Conv:
    """Return the convolution before the inverted residuals."""
    fan = 3, sizes.channels(STEM)
    return Conv("features.0.0", "features.0.1", fan, 3, 2, sizes.size // 2, same=sizes.same, epsilon=sizes.epsilon)


def last(sizes: Sizes) -> Conv:
    """Return the convolution behind the inverted residuals."""
    fan = sizes.channels(STAGES[-1][1]), sizes.features
    return Conv("features.18.0", "features.18.1", fan, 1, 1, sizes.size // SMALLEST, epsilon=sizes.epsilon)


BLOCKS = blocks(BASE)


def convolutions(sizes: Sizes = BASE) -> tuple[Conv, ...]:
    """Return all convolutions in the order data flows."""
    found = blocks(sizes)
    inner = (conv for each in found for conv in (each.expand, each.depthwise, each.project) if conv is not None)
    return (first(sizes), *inner, last(sizes))


def _parameters(sizes: Sizes) -> tuple[Parameter, ...]:
    projections = {block.project.name for block in blocks(sizes)}
    parameters: list[Parameter] = []
    for conv in convolutions(sizes):
        # He fan-in, but for projections, which no ReLU halves.
        gain = 1 if conv.name in projections else 2
        parameters.append(Parameter(f"{conv.name}.weight", conv.shape, std=math.sqrt(gain / math.prod(conv.shape[1:]))))
        parameters.append(Parameter(f"{conv.norm}.weight", (conv.fan[1],), mean=1.0, std=0.1))
        parameters.append(Parameter(f"{conv.norm}.bias", (conv.fan[1],), std=0.1))
        parameters.append(Parameter(f"{conv.norm}.running_mean", (conv.fan[1],), std=0.1))
        parameters.append(Parameter(f"{conv.norm}.running_var", (conv.fan[1],), mean=1.0, std=0.1))
    features = sizes.features
    parameters.append(Parameter("classifier.1.weight", (sizes.classes, features), std=1 / math.sqrt(features)))
    parameters.append(Parameter("classifier.1.bias", (sizes.classes,), std=0.1))
    return tuple(parameters)


MODEL = Model(
    name="mobilenet",
    title="MobileNetV2, 224 × 224",
    inputs=(Tensor("images", (3, BASE.size, BASE.size), "float32"),),
    output=Tensor("logits", (BASE.classes,), "float32"),
    parameters=_parameters(BASE),
    source="Sandler et al., arXiv:1801.04381; as in torchvision",
    package="mobilenet",
    short_title="MobileNetV2",
    batches={"smoke": (4,), "standard": (8,), "full": (8, 16, 32)},
    by_default=False,
    reference_batch=4,
    activations=6_700_000,  # of the convolutions, at 224 × 224
    quantized=("Conv", "Gemm", "MatMul", "Add", "Clip", "GlobalAveragePool"),
)


FAMILY = "MobileNetV2"
"""What networks of such layers are called, whatever their size."""


def of_weights(name: str, sizes: Sizes) -> Model:
    """Return the MobileNetV2 of a user's own weights."""
    return Model(
        name=name,
        title=f"MobileNetV2 of width {sizes.width:g}, {sizes.size} × {sizes.size}",
        inputs=(Tensor("images", (3, sizes.size, sizes.size), "float32"),),
        output=Tensor("logits", (sizes.classes,), "float32"),
        parameters=_parameters(sizes),
        source=MODEL.source,
        package="mobilenet",
        short_title=FAMILY,
        batches=MODEL.batches,
        by_default=False,
        reference_batch=MODEL.reference_batch,
        activations=sum(conv.size_out**2 * conv.fan[1] for conv in convolutions(sizes)),
        quantized=MODEL.quantized,
        sizes=sizes,
    )


def names_in_transformers(sizes: Sizes) -> dict[str, str]:
    """Return what transformers calls every convolution and norm, by our names."""
    plain, *others = blocks(sizes)
    stem = "mobilenet_v2.conv_stem"
    named = {
        f"{stem}.first_conv": first(sizes),
        f"{stem}.conv_3x3": plain.depthwise,
        f"{stem}.reduce_1x1": plain.project,
        "mobilenet_v2.conv_1x1": last(sizes),
    }
    for index, block in enumerate(others):
        layer = f"mobilenet_v2.layer.{index}"
        named |= {f"{layer}.conv_3x3": block.depthwise, f"{layer}.reduce_1x1": block.project}
        if block.expand is not None:
            named[f"{layer}.expand_1x1"] = block.expand
    found = {conv.name: f"{there}.convolution" for there, conv in named.items()}
    found |= {conv.norm: f"{there}.normalization" for there, conv in named.items()}
    return found | {"classifier.1": "classifier"}


def seeded_input(name: str, *, sizes: Sizes = BASE) -> Arrays:
    """Return the input of that name: `images`, shape (3, 224, 224), as ResNet-50's are."""
    return seeded_image(name, sizes.size)


def layers(*, sizes: Sizes = BASE) -> tuple[Layer, ...]:
    """Return the 52 convolutions, each with the BatchNorm after it, and the classifier, as data flows."""
    return (*map(_convolution, convolutions(sizes)), dense("classifier.1", 1, sizes.features, sizes.classes))


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
