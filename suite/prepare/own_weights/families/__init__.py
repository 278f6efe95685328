"""Families of networks as the transformers library saves them: what configurations say, and what tensors are called."""

from suite.prepare.own_weights.families import bert, llama, mobilenet, resnet, vit
from suite.prepare.own_weights.families.types import Family

_ALL = (bert.FAMILY, llama.FAMILY, llama.MISTRAL, vit.FAMILY, resnet.FAMILY, mobilenet.FAMILY)
FAMILIES: dict[str, Family] = {each.model_type: each for each in _ALL}
"""By `model_type` of a configuration."""
