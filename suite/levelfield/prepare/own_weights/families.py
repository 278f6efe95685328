"""Families of networks, as the transformers library saves them: how to read a configuration, and where tensors are.

For text BERT with and without a head, and Llama; for images, each `…ForImageClassification`, ResNet with bottlenecks,
MobileNetV2 and ViT.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from levelfield.zoo.bert import Sizes as BertSizes
from levelfield.zoo.berthead import ANSWERS, CLASSIFIER
from levelfield.zoo.berthead import Sizes as HeadedSizes
from levelfield.zoo.decoder import Sizes as LlamaSizes
from levelfield.zoo.mobilenet import Sizes as MobileNetSizes
from levelfield.zoo.mobilenet import names_in_transformers as mobilenet_names
from levelfield.zoo.resnet50 import EXPANSION
from levelfield.zoo.resnet50 import Sizes as ResNetSizes
from levelfield.zoo.resnet50 import names_in_transformers as resnet_names
from levelfield.zoo.vit import Sizes as ViTSizes

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
"""Names of the tensors of a folder to their shapes."""


class Family(msgspec.Struct, frozen=True):
    """A family of networks, as the transformers library saves them, that has a definition in the zoo."""

    model_type: str
    """As its configuration names it."""
    models: tuple[str, ...]
    """Names of the models in the zoo that take such weights, the usual one first."""
    title: str
    config: type[msgspec.Struct]
    """Fields of the configuration that are read, with the defaults of the library."""
    required: dict[str, Any]
    """Fields that decide how the network is computed, and the one value of each that has a definition."""
    sizes: Callable[[Any, Shapes], msgspec.Struct]
    """`Sizes` of the model in the zoo, of such fields and what is there; raises ValueError where it has no such
    network."""
    names: Callable[[Any, str], tuple[str, ...]] = lambda _, name: (name,)
    """Names that a tensor may have there, of sizes and our name."""
    tied: Callable[[Any, Shapes], dict[str, str]] = lambda _, __: {}
    """Our name of a tensor that is not saved, to ours of the one that it is; of fields and what is there."""
    unused: tuple[str, ...] = ()
    """Beginnings of the names of tensors beside the network: heads, and what is no weight."""
    unused_ends: tuple[str, ...] = ()
    """Ends of such names."""

    def check(self, config: msgspec.Struct) -> None:
        """Refuse a configuration for a network that is computed in another way; raises ValueError."""
        for field, wanted in self.required.items():
            require(field, getattr(config, field), wanted)


def classes(shapes: Shapes, name: str) -> int:
    """Return how many classes a classifier tells apart; raises ValueError where it is not there, or no matrix."""
    shape = shapes.get(name, ())
    if len(shape) != 2:
        raise ValueError(f"there is no classifier {name}, so there are no classes")
    return shape[0]


def require(field: str, value: object, wanted: object) -> None:
    """Raise ValueError where a field has another value than the one that has a definition."""
    if value != wanted:
        raise ValueError(f"{field} is {str(value)[:60]!r}, and only {wanted!r} has a definition here")


MOST_CONTEXT = 2048
"""Of a longer context only so many positions are used: a cache of fixed size is as long as the context."""
_HEAD, _TABLE = "lm_head.weight", "model.embed_tokens.weight"


class BertConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    position_embedding_type: str | None = "absolute"
    is_decoder: bool = False
    add_cross_attention: bool = False


def _bert_sizes(config: BertConfig, _: Shapes) -> BertSizes:
    require("position_embedding_type", config.position_embedding_type or "absolute", "absolute")
    return BertSizes(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        heads=config.num_attention_heads,
        inner=config.intermediate_size,
        vocabulary=config.vocab_size,
        positions=config.max_position_embeddings,
        types=config.type_vocab_size,
        epsilon=config.layer_norm_eps,
    )


def _headed_sizes(config: BertConfig, shapes: Shapes) -> HeadedSizes:
    count = 0 if f"{ANSWERS}.weight" in shapes else classes(shapes, f"{CLASSIFIER}.weight")
    return HeadedSizes(**msgspec.structs.asdict(_bert_sizes(config, shapes)), classes=count)


def _bert_names(_: msgspec.Struct, name: str) -> tuple[str, ...]:
    """Alone or within a network with a head, and as TensorFlow called them in the first published checkpoints."""
    old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    return tuple(dict.fromkeys((name, f"bert.{name}", old, f"bert.{old}")))


_BESIDE = ("cls.", "embeddings.position_ids", "bert.embeddings.position_ids")
BERT = Family(
    model_type="bert",
    models=("bert", "embedder"),
    title="BERT",
    config=BertConfig,
    required={"hidden_act": "gelu", "is_decoder": False, "add_cross_attention": False},
    sizes=_bert_sizes,
    names=_bert_names,
    unused=(*_BESIDE, "pooler.", "bert.pooler.", "classifier.", "qa_outputs."),
)
BERT_WITH_HEAD = msgspec.structs.replace(
    BERT, models=("berthead",), title="BERT with a head", sizes=_headed_sizes, unused=_BESIDE
)
"""`BertForQuestionAnswering` and `BertForSequenceClassification`, where a data set asks for a head."""


class LlamaConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """Fields of the library's class of this name, and of `MistralConfig`."""

    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    rope_theta: float | None = None
    rope_scaling: dict[str, Any] | None = None
    rope_parameters: dict[str, Any] | None = None
    """What versions from 5 on write for both."""
    attention_bias: bool = False
    mlp_bias: bool = False
    sliding_window: int | None = None
    tie_word_embeddings: bool = False


class Rotary(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """Fields of `rope_parameters`, and of `rope_scaling` before them."""

    rope_type: str = "default"
    type: str | None = None
    """What the first versions called it."""
    rope_theta: float = 10_000.0
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: int = 8192


def _llama_sizes(config: LlamaConfig, _: Shapes) -> LlamaSizes:
    context = min(config.max_position_embeddings, MOST_CONTEXT)
    if config.sliding_window is not None and config.sliding_window < context:
        require("sliding_window", config.sliding_window, None)
    rotary = msgspec.convert(config.rope_parameters or config.rope_scaling or {}, Rotary)
    kind = rotary.type or rotary.rope_type
    if kind not in {"default", "llama3"}:
        require("rope_type", kind, "default")
    given = config.rope_theta if config.rope_theta is not None and not config.rope_parameters else rotary.rope_theta
    heads = config.num_attention_heads
    if not config.head_dim and (heads < 1 or config.hidden_size % heads):
        raise ValueError(f"a width of {config.hidden_size} is not divided into {heads} heads")
    sizes = LlamaSizes(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        heads=heads,
        head=config.head_dim or config.hidden_size // heads,
        key_heads=config.num_key_value_heads or heads,
        inner=config.intermediate_size,
        vocabulary=config.vocab_size,
        context=context,
        epsilon=config.rms_norm_eps,
        theta=given,
    )
    if kind != "llama3" or rotary.factor == 1:
        return sizes
    return msgspec.structs.replace(
        sizes,
        stretch=rotary.factor,
        stretch_low=rotary.low_freq_factor,
        stretch_high=rotary.high_freq_factor,
        stretch_context=rotary.original_max_position_embeddings,
    )


LLAMA = Family(
    model_type="llama",
    models=("decoder",),
    title="Llama",
    config=LlamaConfig,
    required={"hidden_act": "silu", "attention_bias": False, "mlp_bias": False},
    sizes=_llama_sizes,
    tied=lambda config, shapes: {_HEAD: _TABLE} if config.tie_word_embeddings and _HEAD not in shapes else {},
    unused_ends=(".rotary_emb.inv_freq",),
)
MISTRAL = msgspec.structs.replace(LLAMA, model_type="mistral", title="Mistral")
"""It has the same layers."""


_Counts = Annotated[tuple[int, ...], Meta(min_length=1, max_length=4)]


def _by_layer(names: Callable[[Any], dict[str, str]]) -> Callable[[Any, str], tuple[str, ...]]:
    """Return how tensors are called where the zoo knows what the library calls the layer of each."""
    of_layers = functools.lru_cache(maxsize=1)(names)

    def tensors(sizes: msgspec.Struct, name: str) -> tuple[str, ...]:
        layer, _, part = name.rpartition(".")
        return (f"{of_layers(sizes)[layer]}.{part}",)

    return tensors


class ResNetConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
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


class MobileNetV2Config(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
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


class ViTConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
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


_ALL = (BERT, LLAMA, MISTRAL, VIT, RESNET, MOBILENET)
FAMILIES: dict[str, Family] = {family.model_type: family for family in _ALL}
"""By `model_type` of a configuration."""
WITH_HEAD: dict[str, Family] = {"bert": BERT_WITH_HEAD}
"""Those that are read with their heads, where a data set asks for one."""
