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
    if framework not in FRAMEWORKS or model.name == "canary":
        raise ValueError(f"{model.title} has no definition in {framework}.")
    return importlib.import_module(f"suite.zoo.{model.name}.{framework}")
