"""What a model is: inputs, output and parameters, as plain data."""

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
    """Everything about a model but its arithmetic, which is in its `reference` module."""

    name: str
    title: str
    inputs: tuple[Tensor, ...]
    output: Tensor
    parameters: tuple[Parameter, ...]
    source: str
    """Where the network was published."""

    @property
    def package(self) -> str:
        """Name of the package in `suite.zoo` that defines it: what stands behind an `@` is only its size."""
        return self.name.partition("@")[0]

    @property
    def parameter_count(self) -> int:
        """Number of weights."""
        return sum(parameter.count for parameter in self.parameters)
