"""ResNet with bottlenecks: `ResNetForImageClassification`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from levelfield.prepare.own_weights.families.types import Declared, Family, Shapes, classes, require
from levelfield.zoo.resnet50.spec import EXPANSION, Sizes, names_in_transformers

_Counts = Annotated[tuple[int, ...], Meta(min_length=1, max_length=4)]


class Config(msgspec.Struct, frozen=True):
    """Fields of `ResNetConfig`."""

    num_channels: int = 3
    embedding_size: int = 64
    hidden_sizes: _Counts = (256, 512, 1024, 2048)
    depths: _Counts = (3, 4, 6, 3)
    layer_type: str = "bottleneck"
    hidden_act: str = "relu"
    downsample_in_first_stage: bool = False
    downsample_in_bottleneck: bool = False
    """Whether the stride stands in the first 1×1 convolution, as it was published first."""


def _declare(config: Config, shapes: Shapes) -> Declared:
    require("num_channels", config.num_channels, 3)
    require("layer_type", config.layer_type, "bottleneck")
    require("hidden_act", config.hidden_act, "relu")
    require("downsample_in_first_stage", config.downsample_in_first_stage, wanted=False)
    require("downsample_in_bottleneck", config.downsample_in_bottleneck, wanted=False)
    if len(config.hidden_sizes) != len(config.depths):
        raise ValueError(f"hidden_sizes are of {len(config.hidden_sizes)} stages, and depths of {len(config.depths)}")
    for width in config.hidden_sizes:
        if width % EXPANSION:
            raise ValueError(f"a bottleneck of {width} channels is not {EXPANSION} times as wide as inside")
    widths = tuple(width // EXPANSION for width in config.hidden_sizes)
    return Declared(
        Sizes(
            stem=config.embedding_size,
            stages=tuple(zip(widths, config.depths, strict=True)),
            classes=classes(shapes, "classifier.1.weight"),
        )
    )


def _names(sizes: msgspec.Struct, name: str) -> tuple[str, ...]:
    assert isinstance(sizes, Sizes)
    parent, _, part = name.rpartition(".")
    return (f"{names_in_transformers(sizes)[parent]}.{part}",)


FAMILY = Family(
    model_type="resnet",
    models=("resnet50",),
    title="ResNet",
    config=Config,
    declare=_declare,
    names=_names,
    unused=(),
    unused_ends=(".num_batches_tracked",),
)
