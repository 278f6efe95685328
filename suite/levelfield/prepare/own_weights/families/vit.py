"""ViT: `ViTForImageClassification`."""

import msgspec

from levelfield.prepare.own_weights.families.types import Declared, Family, Shapes, classes, require
from levelfield.zoo.vit.spec import Sizes


class Config(msgspec.Struct, frozen=True):
    """Fields of `ViTConfig`."""

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


def _declare(config: Config, shapes: Shapes) -> Declared:
    require("hidden_act", config.hidden_act, "gelu")
    require("num_channels", config.num_channels, 3)
    require("qkv_bias", config.qkv_bias, wanted=True)
    if config.patch_size < 1:
        raise ValueError(f"patches have {config.patch_size} pixels")
    return Declared(
        Sizes(
            layers=config.num_hidden_layers,
            hidden=config.hidden_size,
            heads=config.num_attention_heads,
            inner=config.intermediate_size,
            patch=config.patch_size,
            size=config.image_size,
            classes=classes(shapes, "classifier.weight"),
            epsilon=config.layer_norm_eps,
        )
    )


def _names(_: msgspec.Struct, name: str) -> tuple[str, ...]:
    return (name if name.startswith("classifier.") else f"vit.{name}",)


FAMILY = Family(
    model_type="vit",
    models=("vit",),
    title="ViT",
    config=Config,
    declare=_declare,
    names=_names,
    unused=("vit.pooler.",),
)
