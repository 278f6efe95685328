"""Which models a backend has a definition of: a wrapper of frameworks, such as Keras, has them of some."""

import functools
import importlib.util
from collections.abc import Sequence

from levelfield.backends import registry
from levelfield.backends.info import BackendInfo
from levelfield.errors import LevelfieldError
from levelfield.plan.names import names_of_backends, names_of_models
from levelfield.record.schema import Arm
from levelfield.zoo import models as zoo

OPERATORS = "single operators"


def why_not(backend: str, model: str) -> str:
    """Say why a backend does not compute a model; empty where it does."""
    info = registry.get(backend)
    if zoo.has_own_weights(model):
        taken = info.sized and _has(info, model)
        return "" if taken else f"{backend} takes no weights of your own for {zoo.get(model).package} here."
    if model not in (*zoo.operators(), *zoo.answering(), *names_of_models()) or _has(info, model):
        return ""
    return f"{backend} has no definition of {_called(model)} here: it has those of {', '.join(_there(info))}."


def check(models: Sequence[str], arms: Sequence[Arm]) -> None:
    """Refuse models of which no arm has a definition.

    Raises LevelfieldError: nothing would answer for a model.
    """
    left = [name for name in models if all(why_not(arm.backend, name) for arm in arms)]
    if left:
        backends = list(dict.fromkeys(arm.backend for arm in arms))
        there = list(dict.fromkeys(name for each in backends for name in _there(registry.get(each))))
        others = [name for name in names_of_backends() if not any(why_not(name, each) for each in left)]
        raise LevelfieldError(
            f"{', '.join(backends)}: there is no definition of {', '.join(dict.fromkeys(map(_called, left)))} here.",
            fix=f"Ask for {', '.join(there)}, or name another backend: {', '.join(others)}.",
        )


def _called(model: str) -> str:
    return OPERATORS if model in zoo.operators() else model


def _there(info: BackendInfo) -> list[str]:
    return [name for name in names_of_models() if _has(info, name)]


def _has(info: BackendInfo, model: str) -> bool:
    """Return whether a wrapper's definition is in the model's folder; every other backend has all models."""
    return not info.wraps or _written(zoo.get(model).module_name(info.distribution))


@functools.cache
def _written(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
