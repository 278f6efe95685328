"""Where a model's definition in a native framework is: imported only when it is asked for."""

import importlib
from types import ModuleType

from suite.zoo.spec import Model

FRAMEWORKS = ("torch", "jax", "tensorflow")


def definition(model: Model, framework: str) -> ModuleType:
    """Import a model's definition, and with it the framework.

    A `torch` definition has `build()`; the others have `prepare(weights)` and `forward(weights, *inputs)`, with images
    as (batch, height, width, channels).

    Parameters
    ----------
    model
        The model.
    framework
        `torch`, `jax` or `tensorflow`.

    Raises
    ------
    ImportError
        If the framework is not installed.
    ValueError
        If the model has no definition in that framework.
    """
    return _import(model, framework, framework)


def training(model: Model, framework: str) -> ModuleType:
    """Import what a model's training is in a framework: its loss, beside its definition.

    A `torch` one has `prepare(network)` and `loss(network, *batch)`; the others have `loss(weights, statistics,
    *batch)`, which also returns the new running statistics, and `restore(weights)`, the inverse of the definition's
    `prepare`. Batches are in the order of `suite.zoo.training.batches.names`.

    Parameters and errors are those of `definition`.
    """
    return _import(model, framework, f"{framework}_training")


def _import(model: Model, framework: str, module: str) -> ModuleType:
    if framework not in FRAMEWORKS or model.name == "canary":
        raise ValueError(f"{model.title} has no definition in {framework}.")
    return importlib.import_module(f"suite.zoo.{model.package}.{module}")
