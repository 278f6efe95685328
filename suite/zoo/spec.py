"""What a model is: inputs, output, parameters and layers; and what a user's own file is. All of it is plain data.

A worker imports this before NumPy.
"""

import math

import msgspec


class Tensor(msgspec.Struct, frozen=True):
    """An input or output of a model, without its batch dimension."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """`float32` or `int32`: kinds that every framework takes without a conversion."""


class Parameter(msgspec.Struct, frozen=True):
    """A weight tensor: named and shaped as in the reference implementations (torchvision, transformers).

    Values are uniform with this mean and standard deviation (`suite.zoo.bits.scaled`).
    """

    name: str
    shape: tuple[int, ...]
    mean: float = 0.0
    std: float = 0.0

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class Model(msgspec.Struct, frozen=True):
    """Everything about a model but its arithmetic, which is in its `reference` and `backward` modules."""

    name: str
    title: str
    inputs: tuple[Tensor, ...]
    output: Tensor
    parameters: tuple[Parameter, ...]
    source: str
    """Where the network was published."""
    package: str = ""
    """Name of the package in `suite.zoo` that defines it for each framework; empty: no framework runs it."""

    @property
    def parameter_count(self) -> int:
        """Number of weights."""
        return sum(parameter.count for parameter in self.parameters)


class Layer(msgspec.Struct, frozen=True):
    """What one matrix product, convolution or lookup computes and moves, for one input.

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


FLOATING = ("float16", "float32", "float64")
INTEGER = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
DTYPES = (*FLOATING, *INTEGER, "bool")
"""Types of inputs that a user's own file may have: there are values for them."""


class OwnInput(msgspec.Struct, frozen=True):
    """An input of a user's own file."""

    name: str
    dtype: str
    """One of `DTYPES`."""
    shape: tuple[int, ...]
    """Without its batch."""
    batched: bool
    """Whether it begins with the batch."""
    path: str | None = None
    """A `.npy` file with the user's own values, as the reader of this sees it; None: they are seeded."""


class Own(msgspec.Struct, frozen=True):
    """What a worker must know of a user's own file."""

    inputs: tuple[OwnInput, ...]
