"""What can be run: the answer of `levelfield list --json`."""

import msgspec

from levelfield import plan, scenarios
from levelfield.backends import precisions, registry
from levelfield.backends.info import PRECISIONS
from levelfield.images.catalogue import lock_names, pythons, versions
from levelfield.plan.profiles import PROFILES
from levelfield.plugins import Plugin
from levelfield.zoo import models


class ListedModel(msgspec.Struct, frozen=True):
    """A model of the zoo."""

    name: str
    title: str
    parameters: int
    source: str
    distribution: str = ""
    """What brings it, with its version; empty: this tool."""


class ListedBackend(msgspec.Struct, frozen=True):
    """A backend, and what can be asked of it."""

    name: str
    image: str
    reads_onnx: bool
    precisions_cpu: tuple[str, ...]
    precisions_gpu: tuple[str, ...]
    variants: tuple[str, ...]
    """Builds that are locked: cpu, cu12, cu13."""
    versions: tuple[str, ...]
    """Releases that are locked, and Python versions, as they stand behind the name: `jax@0.10.2`."""
    settings: dict[str, tuple[str, ...]]
    """Setting to its values, the default first."""
    distribution: str = ""
    """What brings it, with its version; empty: this tool."""


class ListedProfile(msgspec.Struct, frozen=True):
    """How much a run measures."""

    name: str
    summary: str


class Listed(msgspec.Struct, frozen=True):
    """All that can be asked for by name."""

    format: int
    models: tuple[ListedModel, ...]
    backends: tuple[ListedBackend, ...]
    profiles: tuple[ListedProfile, ...]
    scenarios: tuple[str, ...]
    operators: tuple[str, ...]
    precisions: tuple[str, ...]


def listed() -> Listed:
    """Return what can be run with this version."""
    zoo = [models.get(name) for name in plan.names_of_models()]
    infos = [registry.get(name) for name in registry.all_names()]
    return Listed(
        format=1,
        models=tuple(
            ListedModel(each.name, each.title, each.parameter_count, each.source, _label(models.plugin_of(each.name)))
            for each in zoo
        ),
        backends=tuple(
            ListedBackend(
                name=info.name,
                image=info.image,
                reads_onnx=info.reads == "onnx",
                precisions_cpu=tuple(precisions.supported(info.name)),
                precisions_gpu=tuple(precisions.supported(info.name, "cuda")),
                variants=tuple(dict.fromkeys(variant for variant, _ in lock_names(info.image))),
                versions=(*versions(info.image), *pythons(info.image)),
                settings={name: tuple(values) for name, values in info.settings.items()},
                distribution=_label(registry.plugin_of(info.name)),
            )
            for info in infos
        ),
        profiles=tuple(ListedProfile(each.name, each.says) for each in PROFILES.values()),
        scenarios=tuple(scenarios.NAMES),
        operators=tuple(models.operators()),
        precisions=tuple(PRECISIONS),
    )


def _label(plugin: Plugin | None) -> str:
    return plugin.label if plugin is not None else ""
