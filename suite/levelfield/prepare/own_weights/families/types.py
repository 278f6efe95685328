"""What is said of a family of networks: how to read its configuration, and where its tensors are."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
"""Names of the tensors of a folder to their shapes."""


class Declared(msgspec.Struct, frozen=True):
    """What a configuration says."""

    sizes: msgspec.Struct
    """`Sizes` of the family's model in the zoo."""
    tied: dict[str, str] = {}
    """Our name of a tensor that is not saved, to ours of the one that it is."""


class Family(msgspec.Struct, frozen=True):
    """A family of networks that has a definition in the zoo."""

    model_type: str
    """As its configuration names it."""
    models: tuple[str, ...]
    """Names of the models in the zoo that take such weights, the usual one first."""
    title: str
    config: type[msgspec.Struct]
    """Fields of the configuration that are read, with the defaults of the library."""
    declare: Callable[[Any, Shapes], Declared]
    """Takes such fields and what is there; raises ValueError where the zoo has no such network."""
    names: Callable[[msgspec.Struct, str], tuple[str, ...]]
    """Names that a tensor may have there, of sizes and our name."""
    unused: tuple[str, ...]
    """Beginnings of the names of tensors beside the network: heads, and what is no weight."""
    unused_ends: tuple[str, ...] = ()
    """Ends of such names."""


def classes(shapes: Shapes, name: str) -> int:
    """Return how many classes a classifier tells apart.

    Raises ValueError: there is none, or it is no matrix.
    """
    shape = shapes.get(name, ())
    if len(shape) != 2:
        raise ValueError(f"there is no classifier {name}, so there are no classes")
    return shape[0]


def require(field: str, value: object, wanted: object) -> None:
    """Refuse a configuration for a network that is computed in another way.

    Raises ValueError: they differ.
    """
    if value != wanted:
        raise ValueError(f"{field} is {str(value)[:60]!r}, and only {wanted!r} has a definition here")
