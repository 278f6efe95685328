"""BERT: `BertModel`, alone or within a network with a head."""

import msgspec

from levelfield.prepare.own_weights.families.types import Declared, Family, Shapes, require
from levelfield.zoo.bert.spec import Sizes

_OLD = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
"""What TensorFlow called them, as in the first published checkpoints."""


class Config(msgspec.Struct, frozen=True):
    """Fields of `BertConfig`."""

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


def _declare(config: Config, _: Shapes) -> Declared:
    require("hidden_act", config.hidden_act, "gelu")
    require("position_embedding_type", config.position_embedding_type or "absolute", "absolute")
    require("is_decoder", config.is_decoder, wanted=False)
    require("add_cross_attention", config.add_cross_attention, wanted=False)
    return Declared(
        Sizes(
            layers=config.num_hidden_layers,
            hidden=config.hidden_size,
            heads=config.num_attention_heads,
            inner=config.intermediate_size,
            vocabulary=config.vocab_size,
            positions=config.max_position_embeddings,
            types=config.type_vocab_size,
            epsilon=config.layer_norm_eps,
        )
    )


def _names(_: msgspec.Struct, name: str) -> tuple[str, ...]:
    old = name
    for ours, theirs in _OLD.items():
        old = old.replace(ours, theirs)
    return tuple(dict.fromkeys((name, f"bert.{name}", old, f"bert.{old}")))


FAMILY = Family(
    model_type="bert",
    models=("bert", "embedder"),
    title="BERT",
    config=Config,
    declare=_declare,
    names=_names,
    unused=(
        "pooler.",
        "bert.pooler.",
        "cls.",
        "classifier.",
        "qa_outputs.",
        "embeddings.position_ids",
        "bert.embeddings.position_ids",
    ),
)
