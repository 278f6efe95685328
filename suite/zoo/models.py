"""The models there are."""

import difflib
import functools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from suite.zoo import canary
from suite.zoo.bert import spec as bert
from suite.zoo.mlp import spec as mlp
from suite.zoo.resnet50 import spec as resnet50
from suite.zoo.spec import Model, Parameter, Tensor

__all__ = ["Model", "Parameter", "Tensor", "get", "names"]

_BENCHMARKED = {model.name: model for model in (mlp.MODEL, resnet50.MODEL, bert.MODEL)}
_CONVERGING = {model.name: model for model in (mlp.DIGITS, resnet50.DIGITS)}
"""Small siblings of the benchmarked ones, which are trained to a target."""
_SIZED: Mapping[str, Callable[[str, tuple[int, int, int], int], Model]] = MappingProxyType(
    {mlp.DIGITS.name: mlp.sized, resnet50.DIGITS.name: resnet50.sized}
)
"""Those of them that can be made for other images."""
_SIZE = re.compile(r"(?P<sibling>\w+)@(?P<shape>[1-9]\d{0,2}(x[1-9]\d{0,3}){2})-(?P<classes>[1-9]\d{0,3})")
_ALL = {**_BENCHMARKED, **_CONVERGING, canary.MODEL.name: canary.MODEL}


def names() -> tuple[str, ...]:
    """Return the names of the models that are benchmarked, smallest first (neither the canary nor the digits')."""
    return tuple(_BENCHMARKED)


def get(name: str) -> Model:
    """Return the model of that name, the canary and those that are trained to a target included.

    `digits_resnet@3x16x16-7` is the one for images of 3 channels, 16 × 16 pixels and 7 classes.

    Raises
    ------
    ValueError
        If there is none; the message lists the close matches.
    """
    if name in _ALL:
        return _ALL[name]
    size = _SIZE.fullmatch(name)
    if size is not None and size["sibling"] in _SIZED:
        return _sized(name)
    close = difflib.get_close_matches(name, _ALL, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(_BENCHMARKED)}."
    raise ValueError(f"There is no model {name!r}. {hint}")


def named(sibling: str, shape: tuple[int, int, int], classes: int) -> str:
    """Return the name of a small sibling for images of a shape (channels, height, width) and so many classes."""
    return f"{sibling}@{'x'.join(map(str, shape))}-{classes}"


@functools.cache
def _sized(name: str) -> Model:
    size = _SIZE.fullmatch(name)
    if size is None:
        raise ValueError(f"{name} names no size.")
    channels, height, width = map(int, size["shape"].split("x"))
    return _SIZED[size["sibling"]](name, (channels, height, width), int(size["classes"]))
