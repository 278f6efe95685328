"""ViT as the transformers library has it: `ViTForImageClassification`."""

import operator

import torch
from transformers import ViTConfig, ViTForImageClassification

from levelfield.zoo.spec import Model
from levelfield.zoo.transformers_module import Answering, filled
from levelfield.zoo.vit import BASE, Sizes
from levelfield.zoo.weights import Arrays

_PARTS = {
    "encoder.layer.": "layers.",
    "attention.attention.query": "attention.q_proj",
    "attention.attention.key": "attention.k_proj",
    "attention.attention.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
    "intermediate.dense": "mlp.fc1",
    "output.dense": "mlp.fc2",
}
"""Names in published checkpoints, which are ours, and those of the library's own modules."""


def build(model: Model, weights: Arrays) -> torch.nn.Module:
    """Return the network with these weights; the library chooses how attention is computed."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else BASE
    config = ViTConfig(
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.inner,
        image_size=sizes.size,
        patch_size=sizes.patch,
        num_labels=sizes.classes,
        layer_norm_eps=sizes.epsilon,
    )
    network = filled(ViTForImageClassification, config, weights, {name: _there(name) for name in weights})
    return Answering(network, ("pixel_values",), operator.attrgetter("logits"), {})


def _there(name: str) -> str:
    for ours, theirs in _PARTS.items():
        name = name.replace(ours, theirs)
    return name if name.startswith("classifier") else f"vit.{name}"
