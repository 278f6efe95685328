"""The models in MXNet's symbol API.

Each module has `forward(model, w, *inputs)`: it takes the weights and the inputs as symbols, in the shapes of the
specification, and returns the symbol of the output.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

Symbol: TypeAlias = Any
"""`mxnet.sym.Symbol`, which has no types."""
Weights: TypeAlias = Mapping[str, Symbol]
"""By name."""
NAMES = ("mlp", "resnet50", "bert")
"""Models that have a definition here, by their packages."""
