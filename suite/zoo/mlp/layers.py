"""The MLP's layers, in the order data flows."""

import itertools

from suite.zoo.layers import Layer, dense
from suite.zoo.mlp.spec import WIDTHS


def layers() -> tuple[Layer, ...]:
    """Return its six dense layers."""
    return tuple(
        dense(f"layers.{number}", 1, fan_in, fan_out)
        for number, (fan_in, fan_out) in enumerate(itertools.pairwise(WIDTHS))
    )
