"""Names that a user can give: models, backends and images; not the canary and the exporter."""

from collections.abc import Callable, Collection, Iterable, Sequence

from levelfield import scenarios
from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.names import unknown
from levelfield.scenarios import Scenario
from levelfield.zoo import models

CANARY = "canary"
EXPORTER = "exporter"
"""Image that writes the ONNX files."""


def names_of_models() -> tuple[str, ...]:
    """Return the models that can be measured."""
    return tuple(name for name in models.names() if name != CANARY)


def default_models() -> tuple[str, ...]:
    """Return the models that a run measures where none are named."""
    return tuple(name for name in names_of_models() if models.get(name).by_default)


def names_of_backends() -> tuple[str, ...]:
    """Return the backends that compute on the CPU."""
    return tuple(name for name in registry.names() if name != CANARY)


def all_images() -> tuple[str, ...]:
    """Return every image that some run needs: one for each framework, the exporter, the canary."""
    return tuple(dict.fromkeys((*(registry.get(name).image for name in names_of_backends()), EXPORTER, CANARY)))


def known(kind: str, requested: Iterable[str], there: Iterable[str]) -> tuple[str, ...]:
    """Return the names that were asked for, each once.

    `requested`: names that the user typed; may be empty. Raises LevelfieldError: one of them does not exist; the
    message names close ones.
    """
    names = list(there)
    for name in requested:
        if name not in names:
            raise unknown(kind, name, names)
    return tuple(dict.fromkeys(requested))


def rising(option: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of an option in rising order.

    Raises LevelfieldError: a number is named twice.
    """
    found = tuple(sorted(set(numbers)))
    if len(found) < len(numbers):
        twice = next(number for number in numbers if list(numbers).count(number) > 1)
        raise LevelfieldError(
            f"{option} names {twice} twice.",
            fix=f"Name every number once: {option} {','.join(map(str, found))}.",
        )
    return found


def named_explicitly(
    requested: Collection[str], of_profile: Collection[str], which: Callable[[Scenario], bool]
) -> bool:
    """Return whether a scenario of some kind was asked for by name."""
    return set(requested) != set(of_profile) and any(which(scenarios.get(name)) for name in requested)
