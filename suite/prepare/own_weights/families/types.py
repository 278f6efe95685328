"""What is said of a family of networks: how to read its configuration, and where its tensors are."""

from collections.abc import Callable, Container
from typing import Any

import msgspec


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
    model: str
    """Name of the model in the zoo."""
    title: str
    config: type[msgspec.Struct]
    """Fields of the configuration that are read, with the defaults of the library."""
    declare: Callable[[Any], Declared]
    """Takes such fields; raises ValueError where the zoo has no such network."""
    names: Callable[[msgspec.Struct, str, Container[str]], tuple[str, ...]]
    """Names that a tensor may have there, of sizes and our name; the last argument are the names that are there."""
    unused: tuple[str, ...]
    """Beginnings of the names of tensors beside the network: heads, and what is no weight."""


def require(field: str, value: object, wanted: object) -> None:
    """Refuse a configuration for a network that is computed in another way.

    Parameters
    ----------
    field, value
        Of the configuration.
    wanted
        The value of the networks that have a definition.

    Raises
    ------
    ValueError
        They differ.
    """
    if value != wanted:
        raise ValueError(f"{field} is {str(value)[:60]!r}, and only {wanted!r} has a definition here")
