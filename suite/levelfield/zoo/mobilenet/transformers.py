"""MobileNetV2 as the transformers library has it: `MobileNetV2ForImageClassification`."""

import operator

import torch
from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

from levelfield.zoo.mobilenet import BASE, Sizes, names_in_transformers
from levelfield.zoo.spec import Model
from levelfield.zoo.transformers_module import Answering, filled
from levelfield.zoo.weights import Arrays


def build(model: Model, weights: Arrays) -> torch.nn.Module:
    """Return the network with these weights."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else BASE
    config = MobileNetV2Config(
        depth_multiplier=sizes.width,
        image_size=sizes.size,
        num_labels=sizes.classes,
        layer_norm_eps=sizes.epsilon,
        tf_padding=sizes.same,
    )
    network = filled(MobileNetV2ForImageClassification, config, weights, names_in_transformers(sizes))
    return Answering(network, ("pixel_values",), operator.attrgetter("logits"), {})
