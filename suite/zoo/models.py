"""The models there are."""

import difflib
import functools
import importlib
import re

from suite.zoo import own_weights
from suite.zoo.spec import Model
from suite.zoo.training.recipe import Recipe

FOLDERS = ("mlp", "mobilenet", "resnet50", "decoder", "bert", "embedder", "vit")
"""Models that are benchmarked, smallest first: each is a folder of `suite.zoo`."""

_SIZE = re.compile(r"(?P<sibling>\w+)@(?P<shape>[1-9]\d{0,2}(?:x[1-9]\d{0,3}){2})-(?P<classes>[1-9]\d{0,3})")
_SPECS = {name: importlib.import_module(f"suite.zoo.{name}.spec") for name in (*FOLDERS, "canary")}
_FAMILIES = {name: spec for name, spec in _SPECS.items() if hasattr(spec, "of_weights")}
"""Modules of the networks that can have weights of the user's own, by name."""
_SIBLINGS = {spec.DIGITS.name: spec for spec in _SPECS.values() if spec.MODEL.goal is not None}
"""Modules of the small networks that are trained to a target, by their names."""
_OPERATORS: dict[str, Model] = {each.name: each for each in importlib.import_module("suite.zoo.operators.spec").MODELS}
_ALL: dict[str, Model] = {
    **_OPERATORS,
    **{name: spec.MODEL for name, spec in _SPECS.items()},
    **{name: spec.DIGITS for name, spec in _SIBLINGS.items()},
}


def names() -> tuple[str, ...]:
    """Return the names of the models that are benchmarked, smallest first (neither the canary nor the digits')."""
    return FOLDERS


def operators() -> tuple[str, ...]:
    """Return the names of the single operators."""
    return tuple(_OPERATORS)


def families() -> tuple[str, ...]:
    """Return the names of the models that can have weights of the user's own."""
    return tuple(name for name in FOLDERS if name in _FAMILIES)


def has_own_weights(name: str) -> bool:
    """Return whether a name is that of a network with weights of the user's own."""
    return own_weights.family_of(name) in _FAMILIES


def title_of_own_weights(name: str) -> str:
    """`BERT 1a2b3c4d` for `bert-1a2b3c4d+layers=6`: the family, and the beginning of the digest."""
    family = own_weights.family_of(name)
    return f"{_FAMILIES[family].FAMILY} {name[len(family) + 1 :][: own_weights.DIGITS]}"


def trained() -> tuple[str, ...]:
    """Return the names of the models that are trained, smallest first."""
    return tuple(name for name in FOLDERS if _ALL[name].recipe is not None)


def get(name: str) -> Model:
    """Return the model of that name, the canary and those that are trained to a target included.

    `digits_resnet@3x16x16-7` is the one for images of 3 channels, 16 × 16 pixels and 7 classes, and
    `bert-1a2b3c4d+layers=6` one with weights of the user's own (`suite.zoo.own_weights`).

    Raises
    ------
    ValueError
        If there is none; the message lists the close matches.
    """
    if name in _ALL:
        return _ALL[name]
    if has_own_weights(name):
        return _with_own_weights(name)
    size = _SIZE.fullmatch(name)
    if size is not None and size["sibling"] in _SIBLINGS:
        return _sized(name, **size.groupdict())
    close = difflib.get_close_matches(name, _ALL, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(FOLDERS)}."
    raise ValueError(f"There is no model {name!r}. {hint}")


def recipe(name: str) -> Recipe:
    """Return how a model is trained.

    Raises
    ------
    ValueError
        The model is not one that is trained.
    """
    found = get(name).recipe
    if found is None:
        raise ValueError(f"There is no recipe to train {name!r}; there are {', '.join(trained())}.")
    return found


def sized_name(sibling: str, shape: tuple[int, int, int], classes: int) -> str:
    """Return the name of a small sibling for images of another size.

    Parameters
    ----------
    sibling
        Name of the network for the digits.
    shape
        Channels, height and width of an image.
    classes
        How many.
    """
    return f"{sibling}@{'x'.join(map(str, shape))}-{classes}"


@functools.lru_cache(maxsize=64)
def _with_own_weights(name: str) -> Model:
    return own_weights.model_of(name, _FAMILIES[own_weights.family_of(name)])


@functools.cache
def _sized(name: str, sibling: str, shape: str, classes: str) -> Model:
    model: Model = _SIBLINGS[sibling].sized(name, tuple(map(int, shape.split("x"))), int(classes))
    return model
