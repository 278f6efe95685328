"""A user's own network in Python: its file is run once in a worker, and makes the network and its inputs."""

import functools
import importlib.util
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelfield.backends.protocol import Arrays, Unsupported

SEED = 0
"""Of the generators that many networks draw their first weights from."""


class Written(NamedTuple):
    """What the file's function returned."""

    network: Any
    """Of the file's framework: a module, or a function of tensors."""
    inputs: Arrays
    """Of one call, by name, in order."""


@functools.cache
def written(path: str, function: str) -> Written:
    """Run a file and its function.

    Raises Unsupported: the function returns something else.
    """
    _seed()
    found = getattr(imported(path, "levelfield_own"), function)()
    if not isinstance(found, tuple) or len(found) != len(Written._fields) or not callable(found[0]):
        raise Unsupported(f"{function} has to return two things, the network and its inputs.")
    network, given = found
    named = given if isinstance(given, dict) else {f"input {at}": each for at, each in enumerate(given)}
    arrays = {str(name): each for name, each in named.items()}
    if not arrays or not all(isinstance(each, np.ndarray) and each.dtype != object for each in arrays.values()):
        raise Unsupported(f"The inputs that {function} returns have to be NumPy arrays.")
    return Written(network, {name: np.ascontiguousarray(each) for name, each in arrays.items()})


def imported(path: str, name: str) -> Any:  # noqa: ANN401  (what a module holds, no type knows)
    """Run a Python file as the module `name`; raises Unsupported: it is none."""
    spec = importlib.util.spec_from_file_location(name, Path(path))
    if spec is None or spec.loader is None:
        raise Unsupported(f"{Path(path).name} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _seed() -> None:
    """Seed the generators of Python, NumPy and the framework, where that is imported: two workers get one network."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002  (the generator that networks in the wild draw from)
    for name, seed in (("torch", "manual_seed"), ("tensorflow", "random.set_seed")):
        framework: Any = sys.modules.get(name)
        if framework is not None:
            for part in seed.split("."):
                framework = getattr(framework, part)
            framework(SEED)
