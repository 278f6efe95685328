"""Which single operators a run measures: those that are named, or those that its networks consist of."""

from collections.abc import Sequence

from levelfield.scenarios import get
from levelfield.zoo import models as zoo
from levelfield.zoo.operators import parts


def beside(models: Sequence[str], scenarios: Sequence[str]) -> tuple[str, ...]:
    """Add the operators of the networks, where operators are asked for and none is named."""
    if not any(get(name).operators for name in scenarios) or set(models) & set(zoo.operators()):
        return tuple(models)
    found = {each for name in models for each in parts.of(name, zoo.operators())}
    return (*models, *(name for name in zoo.operators() if name in found))
