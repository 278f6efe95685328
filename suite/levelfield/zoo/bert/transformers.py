"""BERT as the transformers library has it: `BertModel` without the pooler."""

import operator

import torch
from transformers import BertConfig, BertModel

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.spec import Model
from levelfield.zoo.transformers_module import Answering, filled
from levelfield.zoo.weights import Arrays


def build(model: Model, weights: Arrays) -> torch.nn.Module:
    """Return the network with these weights; the library chooses how attention is computed."""
    config = configuration(model.sizes if isinstance(model.sizes, Sizes) else BASE)
    network = filled(lambda each: BertModel(each, add_pooling_layer=False), config, weights, {})
    return Answering(
        network, tuple(tensor.name for tensor in model.inputs), operator.attrgetter("last_hidden_state"), {}
    )


def configuration(sizes: Sizes, *, labels: int = 2) -> BertConfig:
    """Return the library's configuration of a network."""
    return BertConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.inner,
        max_position_embeddings=sizes.positions,
        type_vocab_size=sizes.types,
        layer_norm_eps=sizes.epsilon,
        num_labels=labels,
    )
