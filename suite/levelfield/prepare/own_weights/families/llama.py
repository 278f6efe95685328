"""Llama: `LlamaForCausalLM`, and `MistralForCausalLM`, which has the same layers."""

from typing import Any

import msgspec

from levelfield.prepare.own_weights.families.types import Declared, Family, Shapes, require
from levelfield.zoo.decoder.spec import Sizes

MOST_CONTEXT = 2048
"""Of a longer context only so many positions are used: a cache of fixed size is as long as the context."""
_HEAD, _TABLE = "lm_head.weight", "model.embed_tokens.weight"


class Config(msgspec.Struct, frozen=True):
    """Fields of `LlamaConfig` and `MistralConfig`."""

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


def _declare(config: Config, shapes: Shapes) -> Declared:
    require("hidden_act", config.hidden_act, "silu")
    require("attention_bias", config.attention_bias, wanted=False)
    require("mlp_bias", config.mlp_bias, wanted=False)
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
    sizes = Sizes(
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
    if kind == "llama3" and rotary.factor != 1:
        sizes = msgspec.structs.replace(
            sizes,
            stretch=rotary.factor,
            stretch_low=rotary.low_freq_factor,
            stretch_high=rotary.high_freq_factor,
            stretch_context=rotary.original_max_position_embeddings,
        )
    tied = config.tie_word_embeddings and _HEAD not in shapes
    return Declared(sizes, {_HEAD: _TABLE} if tied else {})


def _names(_: msgspec.Struct, name: str) -> tuple[str, ...]:
    return (name,)


FAMILY = Family(
    model_type="llama",
    models=("decoder",),
    title="Llama",
    config=Config,
    declare=_declare,
    names=_names,
    unused=(),
    unused_ends=(".rotary_emb.inv_freq",),
)
MISTRAL = msgspec.structs.replace(FAMILY, model_type="mistral", title="Mistral")
