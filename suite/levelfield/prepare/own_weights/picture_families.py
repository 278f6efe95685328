"""Networks for images, each `…ForImageClassification`: ResNet with bottlenecks, MobileNetV2 and ViT."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from levelfield.prepare.own_weights.family import Family, Shapes, classes
from levelfield.zoo.mobilenet import Sizes as MobileNetSizes
from levelfield.zoo.mobilenet import names_in_transformers as mobilenet_names
from levelfield.zoo.resnet50 import EXPANSION
from levelfield.zoo.resnet50 import Sizes as ResNetSizes
from levelfield.zoo.resnet50 import names_in_transformers as resnet_names
from levelfield.zoo.vit import Sizes as ViTSizes

_Counts = Annotated[tuple[int, ...], Meta(min_length=1, max_length=4)]


def _by_layer(names: Callable[[Any], dict[str, str]]) -> Callable[[Any, str], tuple[str, ...]]:
    """Return how tensors are called where the zoo knows what the library calls the layer of each."""

    def tensors(sizes: msgspec.Struct, name: str) -> tuple[str, ...]:
        layer, _, part = name.rpartition(".")
        return (f"{names(sizes)[layer]}.{part}",)

    return tensors


class ResNetConfig(msgspec.Struct, frozen=True):
    """Fields of the library's class of this name."""

    num_channels: int = 3
    embedding_size: int = 64
    hidden_sizes: _Counts = (256, 512, 1024, 2048)
    depths: _Counts = (3, 4, 6, 3)
    layer_type: str = "bottleneck"
    hidden_act: str = "relu"
    downsample_in_first_stage: bool = False
    downsample_in_bottleneck: bool = False
    """Whether the stride stands in the first 1×1 convolution, as it was published first."""


def _resnet_sizes(config: ResNetConfig, shapes: Shapes) -> ResNetSizes:
    if len(config.hidden_sizes) != len(config.depths):
        raise ValueError(f"hidden_sizes are of {len(config.hidden_sizes)} stages, and depths of {len(config.depths)}")
    for width in config.hidden_sizes:
        if width % EXPANSION:
            raise ValueError(f"a bottleneck of {width} channels is not {EXPANSION} times as wide as inside")
    widths = tuple(width // EXPANSION for width in config.hidden_sizes)
    return ResNetSizes(
        stem=config.embedding_size,
        stages=tuple(zip(widths, config.depths, strict=True)),
        classes=classes(shapes, "classifier.1.weight"),
    )


RESNET = Family(
    model_type="resnet",
    models=("resnet50",),
    title="ResNet",
    config=ResNetConfig,
    required={
        "num_channels": 3,
        "layer_type": "bottleneck",
        "hidden_act": "relu",
        "downsample_in_first_stage": False,
        "downsample_in_bottleneck": False,
    },
    sizes=_resnet_sizes,
    names=_by_layer(resnet_names),
    unused_ends=(".num_batches_tracked",),
)


class MobileNetV2Config(msgspec.Struct, frozen=True):
    """Fields of the library's class of this name."""

    num_channels: int = 3
    image_size: int = 224
    depth_multiplier: float = 1.0
    depth_divisible_by: int = 8
    min_depth: int = 8
    expand_ratio: float = 6.0
    output_stride: int = 32
    first_layer_is_expansion: bool = True
    finegrained_output: bool = True
    """Whether a narrow network has as many features as the usual one."""
    hidden_act: str = "relu6"
    tf_padding: bool = True
    layer_norm_eps: float = 0.001


def _mobilenet_sizes(config: MobileNetV2Config, shapes: Shapes) -> MobileNetSizes:
    if config.depth_multiplier < 1 and not config.finegrained_output:
        raise ValueError("finegrained_output is 'False', and only True has a definition here")
    return MobileNetSizes(
        width=config.depth_multiplier,
        size=config.image_size,
        classes=classes(shapes, "classifier.weight"),
        epsilon=config.layer_norm_eps,
        same=config.tf_padding,
    )


MOBILENET = Family(
    model_type="mobilenet_v2",
    models=("mobilenet",),
    title="MobileNetV2",
    config=MobileNetV2Config,
    required={
        "num_channels": 3,
        "depth_divisible_by": 8,
        "min_depth": 8,
        "expand_ratio": 6.0,
        "output_stride": 32,
        "first_layer_is_expansion": True,
        "hidden_act": "relu6",
    },
    sizes=_mobilenet_sizes,
    names=_by_layer(mobilenet_names),
    unused_ends=(".num_batches_tracked",),
)


class ViTConfig(msgspec.Struct, frozen=True):
    """Fields of the library's class of this name."""

    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    image_size: int = 224
    patch_size: int = 16
    num_channels: int = 3
    qkv_bias: bool = True


def _vit_sizes(config: ViTConfig, shapes: Shapes) -> ViTSizes:
    if config.patch_size < 1:
        raise ValueError(f"patches have {config.patch_size} pixels")
    return ViTSizes(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        heads=config.num_attention_heads,
        inner=config.intermediate_size,
        patch=config.patch_size,
        size=config.image_size,
        classes=classes(shapes, "classifier.weight"),
        epsilon=config.layer_norm_eps,
    )


VIT = Family(
    model_type="vit",
    models=("vit",),
    title="ViT",
    config=ViTConfig,
    required={"hidden_act": "gelu", "num_channels": 3, "qkv_bias": True},
    sizes=_vit_sizes,
    names=lambda _, name: (name if name.startswith("classifier.") else f"vit.{name}",),
    unused=("vit.pooler.",),
)
