"""Families of networks as the transformers library saves them: what configurations say, and what tensors are called."""

from suite.prepare.own_weights.families import bert
from suite.prepare.own_weights.families.types import Family

FAMILIES: dict[str, Family] = {each.model_type: each for each in (bert.FAMILY,)}
"""By `model_type` of a configuration."""
