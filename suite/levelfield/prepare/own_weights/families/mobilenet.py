"""MobileNetV2: `MobileNetV2ForImageClassification`."""

import msgspec

from levelfield.prepare.own_weights.families.types import Declared, Family, Shapes, classes, require
from levelfield.zoo.mobilenet.spec import Sizes, names_in_transformers


class Config(msgspec.Struct, frozen=True):
    """Fields of `MobileNetV2Config`."""

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


def _declare(config: Config, shapes: Shapes) -> Declared:
    require("num_channels", config.num_channels, 3)
    require("depth_divisible_by", config.depth_divisible_by, 8)
    require("min_depth", config.min_depth, 8)
    require("expand_ratio", config.expand_ratio, 6.0)
    require("output_stride", config.output_stride, 32)
    require("first_layer_is_expansion", config.first_layer_is_expansion, wanted=True)
    require("hidden_act", config.hidden_act, "relu6")
    if config.depth_multiplier < 1:
        require("finegrained_output", config.finegrained_output, wanted=True)
    return Declared(
        Sizes(
            width=config.depth_multiplier,
            size=config.image_size,
            classes=classes(shapes, "classifier.weight"),
            epsilon=config.layer_norm_eps,
            same=config.tf_padding,
        )
    )


def _names(sizes: msgspec.Struct, name: str) -> tuple[str, ...]:
    assert isinstance(sizes, Sizes)
    parent, _, part = name.rpartition(".")
    return (f"{names_in_transformers(sizes)[parent]}.{part}",)


FAMILY = Family(
    model_type="mobilenet_v2",
    models=("mobilenet",),
    title="MobileNetV2",
    config=Config,
    declare=_declare,
    names=_names,
    unused=(),
    unused_ends=(".num_batches_tracked",),
)
