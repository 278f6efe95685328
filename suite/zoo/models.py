"""The models there are."""

import difflib

from suite.zoo.bert.spec import MODEL as BERT
from suite.zoo.canary.spec import MODEL as CANARY
from suite.zoo.digits_mlp.spec import MODEL as DIGITS_MLP
from suite.zoo.digits_resnet.spec import MODEL as DIGITS_RESNET
from suite.zoo.mlp.spec import MODEL as MLP
from suite.zoo.resnet50.spec import MODEL as RESNET50
from suite.zoo.spec import Model, Parameter, Tensor

__all__ = ["Model", "Parameter", "Tensor", "get", "names"]

_BENCHMARKED = {model.name: model for model in (MLP, RESNET50, BERT)}
_CONVERGING = {model.name: model for model in (DIGITS_MLP, DIGITS_RESNET)}
"""Small siblings of the benchmarked ones, which are trained to a target."""
_ALL = {**_BENCHMARKED, **_CONVERGING, CANARY.name: CANARY}


def names() -> tuple[str, ...]:
    """Return the names of the models that are benchmarked, smallest first (neither the canary nor the digits')."""
    return tuple(_BENCHMARKED)


def get(name: str) -> Model:
    """Return the model of that name, the canary and those that are trained on the digits included.

    Raises
    ------
    ValueError
        If there is none; the message lists the close matches.
    """
    if name in _ALL:
        return _ALL[name]
    close = difflib.get_close_matches(name, _ALL, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(_BENCHMARKED)}."
    raise ValueError(f"There is no model {name!r}. {hint}")
