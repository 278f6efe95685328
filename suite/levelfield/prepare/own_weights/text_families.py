"""Networks for text: BERT with and without a head, and Llama."""

from typing import Any

import msgspec

from levelfield.prepare.own_weights.family import Family, Shapes, classes, require
from levelfield.zoo.bert import Sizes as BertSizes
from levelfield.zoo.berthead import ANSWERS, CLASSIFIER
from levelfield.zoo.berthead import Sizes as HeadedSizes
from levelfield.zoo.decoder import Sizes as LlamaSizes

MOST_CONTEXT = 2048
"""Of a longer context only so many positions are used: a cache of fixed size is as long as the context."""
_HEAD, _TABLE = "lm_head.weight", "model.embed_tokens.weight"


class BertConfig(msgspec.Struct, frozen=True):
    """Fields of the library's class of this name."""

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


class LlamaConfig(msgspec.Struct, frozen=True):
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


class Rotary(msgspec.Struct, frozen=True):
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
    if config.head_dim is None and (heads < 1 or config.hidden_size % heads):
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
