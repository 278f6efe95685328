"""What can be asked for by name: models, backends and images; the canary and the exporter are nobody's wish."""

from collections.abc import Iterable

from suite.backends import registry
from suite.names import unknown
from suite.zoo import models

CANARY = "canary"
EXPORTER = "exporter"
"""Image that writes the ONNX files."""


def names_of_models() -> tuple[str, ...]:
    """Return the models that can be measured."""
    return tuple(name for name in models.names() if name != CANARY)


def names_of_backends() -> tuple[str, ...]:
    """Return the backends that compute on the CPU."""
    return tuple(name for name in registry.names() if name != CANARY)


def all_images() -> tuple[str, ...]:
    """Return every image that some run needs: one for each framework, the exporter, the canary."""
    return tuple(dict.fromkeys((*(registry.get(name).image for name in names_of_backends()), EXPORTER, CANARY)))


def known(kind: str, asked: Iterable[str], there: Iterable[str]) -> tuple[str, ...]:
    """Return the names asked for, each once.

    Raises
    ------
    LevelfieldError
        One of them is not there; close matches are told.
    """
    names = list(there)
    for name in asked:
        if name not in names:
            raise unknown(kind, name, names)
    return tuple(dict.fromkeys(asked))
