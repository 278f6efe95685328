"""The models there are; those of plug-ins stand beside the built-in ones (docs/plugins.md)."""

import difflib
import functools
import importlib

import msgspec

from levelfield import plugins
from levelfield.plugins import Broken, Plugin, PluginError
from levelfield.zoo import own_weights
from levelfield.zoo.spec import Model
from levelfield.zoo.training.recipe import Recipe

FOLDERS = ("mlp", "mobilenet", "resnet50", "decoder", "bert", "embedder", "vit")
"""Models that are benchmarked, smallest first: each is a folder of `zoo`."""

_SPECS = {name: importlib.import_module(f"levelfield.zoo.{name}") for name in (*FOLDERS, "canary")}
_HEADED = importlib.import_module("levelfield.zoo.berthead")
_FAMILIES = {name: spec for name, spec in _SPECS.items() if hasattr(spec, "of_weights")} | {"berthead": _HEADED}
"""Modules of the networks that can have weights of the user's own, by name."""
"""Modules of the small networks that are trained to a target, by their names."""
_ANSWERING: dict[str, Model] = {each.name: each for each in _HEADED.MODELS}
_OPERATORS: dict[str, Model] = {each.name: each for each in importlib.import_module("levelfield.zoo.operators").MODELS}
_ALL: dict[str, Model] = {
    **_OPERATORS,
    **_ANSWERING,
    **{name: spec.MODEL for name, spec in _SPECS.items()},
    **{spec.DIGITS.name: spec.DIGITS for spec in _SPECS.values() if spec.MODEL.goal is not None},
}


@functools.cache
def _from_plugins() -> tuple[dict[str, tuple[Model, Plugin]], tuple[Broken, ...]]:
    """Return the models of plug-ins by name, and the entry points that bring none."""
    found: dict[str, tuple[Model, Plugin]] = {}
    failed: list[Broken] = []
    for plugin in plugins.installed(plugins.MODELS):
        try:
            model = plugins.load(plugin, Model)
            _check(model, plugin, found)
        except PluginError as error:
            failed.append(Broken(plugin, str(error)))
        else:
            found[plugin.name] = (msgspec.structs.replace(model, by_default=False), plugin)
    return found, tuple(failed)


def _check(model: Model, plugin: Plugin, found: dict[str, tuple[Model, Plugin]]) -> None:
    """Raise PluginError where a plug-in's model cannot be used."""
    if model.name != plugin.name:
        raise PluginError(f"its Model is called {model.name!r}")
    if model.name in _ALL:
        raise PluginError("a built-in model has this name")
    if model.name in found:
        raise PluginError(f"{found[model.name][1].label} brings a model of this name")
    if model.root.partition(".")[0] != plugin.package:
        raise PluginError(f"its folder is in {model.root}, and workers are given {plugin.package} alone")
    if model.package != model.name:
        raise PluginError(f"its folder is called {model.package!r}, and not as the model is")
    if model.goal is not None or model.operator is not None:
        raise PluginError("a plug-in's model is neither an operator nor trained to a target")


def broken() -> tuple[Broken, ...]:
    """Return the entry points that bring no model, with the reasons."""
    return _from_plugins()[1]


def plugin_of(name: str) -> Plugin | None:
    """Return the plug-in that brings a model; None: it is built in, or not known."""
    if name in _ALL:
        return None
    found = _from_plugins()[0].get(name)
    return None if found is None else found[1]


def plugins_of_models() -> tuple[Plugin, ...]:
    """Return the plug-ins whose models can be used."""
    return tuple(plugin for _, plugin in _from_plugins()[0].values())


def names() -> tuple[str, ...]:
    """Return the names of the models that are benchmarked, smallest first (neither the canary nor the digits').

    Those of plug-ins come last.
    """
    return (*FOLDERS, *_from_plugins()[0])


def operators() -> tuple[str, ...]:
    """Return the names of the single operators."""
    return tuple(_OPERATORS)


def answering() -> tuple[str, ...]:
    """Return the names of the networks that a data set with labels chooses: models with a head of their own."""
    return tuple(_ANSWERING)


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
    return tuple(name for name in names() if get(name).recipe is not None)


def get(name: str) -> Model:
    """Return the model of that name, the canary and those that are trained to a target included.

    Raises ValueError: there is none; the message lists the close matches.
    """
    if name in _ALL:
        return _ALL[name]
    if has_own_weights(name):
        return _with_own_weights(name)
    of_plugins, failed = _from_plugins()
    if name in of_plugins:
        return of_plugins[name][0]
    reason = next((each.sentence for each in failed if each.plugin.name == name), "")
    if reason:
        raise ValueError(reason)
    close = difflib.get_close_matches(name, (*_ALL, *of_plugins), n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(names())}."
    raise ValueError(f"There is no model {name!r}. {hint}")


def recipe(name: str) -> Recipe:
    """Return how a model is trained. Raises ValueError: the model is not one that is trained."""
    found = get(name).recipe
    if found is None:
        raise ValueError(f"There is no recipe to train {name!r}; there are {', '.join(trained())}.")
    return found


@functools.lru_cache(maxsize=64)
def _with_own_weights(name: str) -> Model:
    return own_weights.model_of(name, _FAMILIES[own_weights.family_of(name)])
