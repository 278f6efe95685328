"""ResNet as the transformers library has it: `ResNetForImageClassification`."""

import operator

import torch
from transformers import ResNetConfig, ResNetForImageClassification

from levelfield.zoo.resnet50 import EXPANSION, RESNET50, Sizes, names_in_transformers
from levelfield.zoo.spec import Model
from levelfield.zoo.transformers_module import Answering, filled
from levelfield.zoo.weights import Arrays


def build(model: Model, weights: Arrays) -> torch.nn.Module:
    """Return the network with these weights."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else RESNET50
    config = ResNetConfig(
        embedding_size=sizes.stem,
        hidden_sizes=[EXPANSION * width for width, _ in sizes.stages],
        depths=[count for _, count in sizes.stages],
        layer_type="bottleneck",
        num_labels=sizes.classes,
    )
    network = filled(ResNetForImageClassification, config, weights, names_in_transformers(sizes))
    return Answering(network, ("pixel_values",), operator.attrgetter("logits"), {})
