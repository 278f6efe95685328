"""What a model's layers compute and move, told by each model's own definition (`suite.zoo.<model>.layers`)."""

import msgspec


class Layer(msgspec.Struct, frozen=True):
    """One matrix product, convolution or lookup, for one input.

    Element-wise work (a bias, a normalisation, an activation, the addition of a shortcut) is taken to be fused into the
    layer before it: it is no multiply-accumulate, and moves nothing of its own.
    """

    name: str
    kind: str
    """`dense`, `attention`, `lookup`, `convolution 3×3`, `convolution 3×3, stride 2`: what could be counted apart."""
    macs: int
    """Multiply-accumulates."""
    weights: int
    """Elements of weights that it needs, whatever the batch."""
    reads: int
    """Elements of activations in."""
    writes: int
    """Elements of activations out."""


def dense(name: str, rows: int, fan_in: int, fan_out: int) -> Layer:
    """Return a dense layer with a bias, applied to `rows` vectors of an input."""
    return Layer(
        name=name,
        kind="dense",
        macs=rows * fan_in * fan_out,
        weights=fan_in * fan_out + fan_out,
        reads=rows * fan_in,
        writes=rows * fan_out,
    )
