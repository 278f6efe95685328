"""The ResNets: their sizes and parameters, the inputs of the one that is benchmarked, and its layers.

ResNet-50 v1.5 is that of He et al. 2015, with the stride in the 3×3 convolution of a bottleneck instead of its first
1×1. The small one for the digits has the same bottlenecks behind a stem for images of 8×8: a 3×3 convolution without
stride, and nothing is pooled before the end, as in the CIFAR networks of He et al. 2015 (section 4.2), since 8×8 pixels
have none to lose. Names are torchvision's. The definitions take both: which one it is follows from the weights.
"""

import math
from collections.abc import Container, Sequence
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from levelfield.zoo import bits
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor, dense
from levelfield.zoo.training.recipe import BATCH_NORM, SGD, Errors, Goal, Recipe
from levelfield.zoo.weights import Arrays

SHAPE = (3, 224, 224)
"""Channels, height and width of an image."""
SIZE = SHAPE[1]
CLASSES = 1000
EPSILON = BATCH_NORM.epsilon
"""Of BatchNorm."""
EXPANSION = 4


_Width = Annotated[int, Meta(ge=1, le=1 << 12)]
_Count = Annotated[int, Meta(ge=1, le=256)]


class Sizes(msgspec.Struct, frozen=True):
    """Sizes of a network of bottlenecks; those of ResNet-50 unless said otherwise."""

    stem: Annotated[int, Meta(ge=1, le=1 << 12)] = 64
    """Channels of the first convolution."""
    kernel: Annotated[int, Meta(ge=1, le=15)] = 7
    stride: Annotated[int, Meta(ge=1, le=4)] = 2
    """Of the first convolution; its padding is half its kernel."""
    pooled: bool = True
    """Whether a max pool of stride 2 follows it."""
    stages: Annotated[tuple[tuple[_Width, _Count], ...], Meta(min_length=1, max_length=4)] = (
        (64, 3),
        (128, 4),
        (256, 6),
        (512, 3),
    )
    """Width and number of bottlenecks of `layer1`, `layer2`, …"""
    classes: Annotated[int, Meta(ge=1, le=1 << 20)] = 1000
    """That a network with weights of the user's own tells apart."""

    def blocks(self, stage: int) -> tuple[tuple[str, int], ...]:
        """Return the name and stride of a stage's bottlenecks, `layer1.0`, `layer1.1`, … (stages count from 0)."""
        _, count = self.stages[stage]
        return tuple((f"layer{stage + 1}.{index}", 2 if stage > 0 and index == 0 else 1) for index in range(count))

    def all_blocks(self) -> tuple[tuple[str, int], ...]:
        """Return the name and stride of every bottleneck."""
        return tuple(block for stage in range(len(self.stages)) for block in self.blocks(stage))

    @property
    def features(self) -> int:
        """Channels that the classifier is given."""
        return EXPANSION * self.stages[-1][0]


RESNET50 = Sizes()
SMALL = Sizes(stem=16, kernel=3, stride=1, pooled=False, stages=((16, 1), (32, 1)))


def sizes_of(names: Container[str]) -> Sizes:
    """Return the sizes of the network that has weights of these names."""
    return RESNET50 if "layer4.0.conv1.weight" in names else SMALL


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


def convolutions(sizes: Sizes, shape: tuple[int, int, int]) -> tuple[Conv, ...]:
    """Return all convolutions in the order data flows, for images of a shape: channels, height and width, a square."""
    channels, size, _ = shape
    size //= sizes.stride
    convs = [Conv("conv1", "bn1", (channels, sizes.stem), sizes.kernel, sizes.stride, size)]
    channels, size = sizes.stem, size // 2 if sizes.pooled else size
    for stage, (width, _) in enumerate(sizes.stages):
        for block, stride in sizes.blocks(stage):
            out, size_in = EXPANSION * width, size
            size //= stride
            convs.append(Conv(f"{block}.conv1", f"{block}.bn1", (channels, width), 1, 1, size_in))
            convs.append(Conv(f"{block}.conv2", f"{block}.bn2", (width, width), 3, stride, size))
            convs.append(Conv(f"{block}.conv3", f"{block}.bn3", (width, out), 1, 1, size))
            if channels != out:
                shortcut = f"{block}.downsample"
                convs.append(Conv(f"{shortcut}.0", f"{shortcut}.1", (channels, out), 1, stride, size))
            channels = out
    return tuple(convs)


def _parameters(
    sizes: Sizes, shape: tuple[int, int, int], classes: int, *, last_scale: float, spread: float
) -> tuple[Parameter, ...]:
    """Return the parameters; `spread`: relative standard deviation of what is no kernel and no matrix."""
    parameters: list[Parameter] = []
    for conv in convolutions(sizes, shape):
        fan_in = conv.fan[0] * conv.kernel**2
        # He fan-in, but for projections, which no ReLU halves.
        std = math.sqrt((1 if "downsample" in conv.name else 2) / fan_in)
        gamma = last_scale if conv.norm.endswith("bn3") else 1.0
        parameters.append(
            Parameter(f"{conv.name}.weight", (conv.fan[1], conv.fan[0], conv.kernel, conv.kernel), std=std)
        )
        parameters.append(Parameter(f"{conv.norm}.weight", (conv.fan[1],), mean=gamma, std=spread * gamma))
        parameters.append(Parameter(f"{conv.norm}.bias", (conv.fan[1],), std=spread))
        parameters.append(Parameter(f"{conv.norm}.running_mean", (conv.fan[1],), std=spread))
        parameters.append(Parameter(f"{conv.norm}.running_var", (conv.fan[1],), mean=1.0, std=spread))
    parameters.append(Parameter("fc.weight", (classes, sizes.features), std=1 / math.sqrt(sizes.features)))
    parameters.append(Parameter("fc.bias", (classes,), std=spread))
    return tuple(parameters)


MODEL = Model(
    name="resnet50",
    title="ResNet-50 v1.5",
    inputs=(Tensor("images", SHAPE, "float32"),),
    output=Tensor("logits", (CLASSES,), "float32"),
    # The last BatchNorm of a bottleneck is scaled down, or activations would grow with every block (to hundreds at the
    # end).
    parameters=_parameters(RESNET50, SHAPE, CLASSES, last_scale=0.3, spread=0.1),
    source="He et al., arXiv:1512.03385; v1.5 as in torchvision",
    package="resnet50",
    short_title="ResNet-50",
    batches={"smoke": (4,), "standard": (4,), "full": (4, 8, 16)},
    training_batches={"smoke": (2,), "standard": (4,), "full": (4, 8, 16)},
    dataset_items=256,
    reference_batch=4,
    activations=11_200_000,  # of the convolutions, at 224 × 224
    # Products and convolutions, and what stands between two of them, so that activations stay in 8 bits.
    mlperf="resnet50",
    quantized=("Conv", "Gemm", "MatMul", "Add", "Relu", "MaxPool", "GlobalAveragePool"),
    recipe=Recipe(
        # The published rate is 0.1, reached from zero in five epochs of 5004 steps: this is that of the tenth step.
        # With higher ones the first ten steps are chaos, in which rounding grows two- to threefold with each.
        optimizer=SGD(learning_rate=4e-5, momentum=0.9, weight_decay=1e-4),
        loss="cross-entropy over 1000 classes, mean over the batch",
        trajectory_batch=2,
        source="He et al., arXiv:1512.03385; the warm-up Goyal et al., arXiv:1706.02677",
        sensitivity=Errors(losses=2.23e-5, gradients=4.31e-4, weights=2.37e-2, statistics=6.50e-5),
        lowered={
            "bf16": Errors(losses=3.40e-3, gradients=8.86e-2, weights=5.87e-1, statistics=1.06e-2),
            "fp16": Errors(losses=1.16e-3, gradients=4.52e-2, weights=2.49e-1, statistics=1.84e-3),
        },
    ),
    goal=Goal(
        network="digits_resnet",
        title="two-bottleneck ResNet",
        optimizer=SGD(learning_rate=0.05, momentum=0.9, weight_decay=5e-4),
        batch=64,
        steps=300,
        every=10,
        target=0.97,
        sensitivity=2.5e-4,
        lowered={"bf16": 4.26e-3, "fp16": 9.27e-4},
    ),
)


DIGITS = Model(
    name="digits_resnet",
    title="ResNet of bottlenecks for 8×8",
    inputs=(Tensor("images", (1, 8, 8), "float32"),),
    output=Tensor("logits", (10,), "float32"),
    # As training begins everywhere: scales one, shifts zero, statistics of nothing seen.
    parameters=_parameters(SMALL, (1, 8, 8), 10, last_scale=1.0, spread=0.0),
    source="Bottlenecks of He et al., arXiv:1512.03385, behind the stem of its section 4.2",
    package="resnet50",
)

FAMILY = "ResNet"
"""What networks of such layers are called, whatever their size."""


def of_weights(name: str, sizes: Sizes) -> Model:
    """Return the ResNet of a user's own weights."""
    blocks = sum(count for _, count in sizes.stages)
    convs = convolutions(sizes, SHAPE)
    return Model(
        name=name,
        title=f"ResNet of {blocks} bottlenecks, {SIZE} × {SIZE}",
        inputs=MODEL.inputs,
        output=Tensor("logits", (sizes.classes,), "float32"),
        parameters=_parameters(sizes, SHAPE, sizes.classes, last_scale=0.3, spread=0.1),
        source=MODEL.source,
        package="resnet50",
        short_title=FAMILY,
        batches=MODEL.batches,
        by_default=False,
        reference_batch=MODEL.reference_batch,
        activations=sum(conv.size_out**2 * conv.fan[1] for conv in convs),
        quantized=MODEL.quantized,
        sizes=sizes,
    )


def names_in_transformers(sizes: Sizes) -> dict[str, str]:
    """Return what transformers calls every convolution and norm, by our names."""
    found: dict[str, str] = {}
    for conv in convolutions(sizes, SHAPE):
        if conv.name == "conv1":
            there = "resnet.embedder.embedder"
        else:
            stage, index, part = conv.name.split(".")[:3]
            layer = f"resnet.encoder.stages.{int(stage.removeprefix('layer')) - 1}.layers.{index}"
            number = part.removeprefix("conv")
            there = f"{layer}.shortcut" if part == "downsample" else f"{layer}.layer.{int(number) - 1}"
        found[conv.name] = f"{there}.convolution"
        found[conv.norm] = f"{there}.normalization"
    return found | {"fc": "classifier.1"}


COARSE = 32
"""Pixels between the control points of the large blobs of an input."""
FINE = 8
"""The same for the small ones."""


def seeded_input(name: str, *, sizes: Sizes = RESNET50) -> Arrays:
    """Return the input of that name: `images`, shape (3, 224, 224)."""
    del sizes
    return seeded_image(name)


def seeded_image(name: str, size: int = SIZE) -> Arrays:
    """Return the image of that name: `images`, shape (3, size, size), values in (−3.5, 3.5), with deviation near one.

    Images have a colour of their own, large smooth blobs and smaller ones, as photographs have. Random networks forget
    most of an image but its colours: those make the answers differ by a quarter of their size. Grids of random 8-bit
    values are interpolated bilinearly at a power-of-two spacing, all in integers, and scaled once by a power of two:
    exact, so the same bits everywhere.
    """
    colour = _eights(f"{name}/colour", (3, 1, 1)) * COARSE**2
    coarse = _blobs(f"{name}/coarse", COARSE, size)
    fine = _blobs(f"{name}/fine", FINE, size) * (COARSE // FINE) ** 2
    # At most 7 · 255 · 32² in size: the sum fits the 24 bits of a float32's significand.
    return {"images": (4 * colour + 2 * coarse + fine).astype(np.float32) * np.float32(2.0**-9 / COARSE**2)}


def _eights(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return random 8-bit values, symmetric about zero: the odd numbers from −255 to 255, in units of 2⁻⁸."""
    return 2 * bits.integers(name, math.prod(shape), bits=8).reshape(shape) - 255


def _blobs(name: str, spacing: int, size: int) -> npt.NDArray[np.int64]:
    """Return a (3, size, size) pattern in units of 2⁻⁸ / spacing², between −1 and 1."""
    points = -(-size // spacing) + 1
    return _stretch(_stretch(_eights(name, (3, points, points)), spacing, size, axis=1), spacing, size, axis=2)


def _stretch(grid: npt.NDArray[np.int64], spacing: int, size: int, axis: int) -> npt.NDArray[np.int64]:
    """Interpolate linearly along one axis; the result is `spacing` times too large, so that it stays whole."""
    pixel = np.arange(size)
    left, offset = pixel // spacing, pixel % spacing
    shape = [size if dimension == axis else 1 for dimension in range(grid.ndim)]
    offset = offset.reshape(shape)
    return np.take(grid, left, axis) * (spacing - offset) + np.take(grid, left + 1, axis) * offset


def labelled(inputs: Arrays, names: Sequence[str]) -> Arrays:
    """Return a training batch: inputs with `labels`, 0 … 999, int32, shape (batch,); one name for each."""
    draws = np.array([bits.integers(name, 1)[0] for name in names])
    return inputs | {"labels": ((draws * CLASSES) >> 24).astype(np.int32)}


def layers(*, sizes: Sizes = RESNET50) -> tuple[Layer, ...]:
    """Return the convolutions, each with the BatchNorm after it, and the classifier, as data flows."""
    convs = convolutions(sizes, SHAPE)
    return (*map(_convolution, convs), dense("fc", 1, sizes.features, sizes.classes))


def _convolution(conv: Conv) -> Layer:
    channels_in, channels_out = conv.fan
    size_in = conv.size_out * conv.stride
    stride = f", stride {conv.stride}" if conv.stride > 1 else ""
    return Layer(
        name=conv.name,
        kind=f"convolution {conv.kernel}×{conv.kernel}{stride}",
        macs=conv.macs,
        # BatchNorm folds into the kernel and one bias a channel, as every inference engine does it.
        weights=channels_in * channels_out * conv.kernel**2 + channels_out,
        reads=size_in**2 * channels_in,
        writes=conv.size_out**2 * channels_out,
    )
