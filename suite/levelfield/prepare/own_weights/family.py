"""What is said of a family of networks: how to read its configuration, and where its tensors are."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
"""Names of the tensors of a folder to their shapes."""


class Family(msgspec.Struct, frozen=True):
    """A family of networks, as the transformers library saves them, that has a definition in the zoo."""

    model_type: str
    """As its configuration names it."""
    models: tuple[str, ...]
    """Names of the models in the zoo that take such weights, the usual one first."""
    title: str
    config: type[msgspec.Struct]
    """Fields of the configuration that are read, with the defaults of the library."""
    required: dict[str, Any]
    """Fields that decide how the network is computed, and the one value of each that has a definition."""
    sizes: Callable[[Any, Shapes], msgspec.Struct]
    """`Sizes` of the model in the zoo, of such fields and what is there; raises ValueError where it has no such
    network."""
    names: Callable[[Any, str], tuple[str, ...]] = lambda _, name: (name,)
    """Names that a tensor may have there, of sizes and our name."""
    tied: Callable[[Any, Shapes], dict[str, str]] = lambda _, __: {}
    """Our name of a tensor that is not saved, to ours of the one that it is; of fields and what is there."""
    unused: tuple[str, ...] = ()
    """Beginnings of the names of tensors beside the network: heads, and what is no weight."""
    unused_ends: tuple[str, ...] = ()
    """Ends of such names."""

    def check(self, config: msgspec.Struct) -> None:
        """Refuse a configuration for a network that is computed in another way; raises ValueError."""
        for field, wanted in self.required.items():
            require(field, getattr(config, field), wanted)


def classes(shapes: Shapes, name: str) -> int:
    """Return how many classes a classifier tells apart; raises ValueError where it is not there, or no matrix."""
    shape = shapes.get(name, ())
    if len(shape) != 2:
        raise ValueError(f"there is no classifier {name}, so there are no classes")
    return shape[0]


def require(field: str, value: object, wanted: object) -> None:
    """Raise ValueError where a field has another value than the one that has a definition."""
    if value != wanted:
        raise ValueError(f"{field} is {str(value)[:60]!r}, and only {wanted!r} has a definition here")
