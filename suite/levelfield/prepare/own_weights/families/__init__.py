"""Families of networks as the transformers library saves them: what configurations say, and what tensors are called."""

from levelfield.prepare.own_weights.families import bert, berthead, llama, mobilenet, resnet, vit
from levelfield.prepare.own_weights.families.types import Family

_ALL = (bert.FAMILY, llama.FAMILY, llama.MISTRAL, vit.FAMILY, resnet.FAMILY, mobilenet.FAMILY)
FAMILIES: dict[str, Family] = {each.model_type: each for each in _ALL}
"""By `model_type` of a configuration."""
WITH_HEAD: dict[str, Family] = {"bert": berthead.FAMILY}
"""Those that are read with their heads, where a data set asks for one."""
