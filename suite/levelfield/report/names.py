"""What models, scenarios and backends are called on a page, and which colour a backend always has.

Names come from records, which are not trusted: a name that is not known here is shown as it is, and never
becomes part of a class or an anchor.
"""

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from levelfield import scenarios
from levelfield.backends import registry
from levelfield.record.schema import Case, KVCache
from levelfield.zoo import models

_BACKENDS = {name: registry.get(name) for name in registry.all_names()}

_SPARE_COLOURS = (("#55606e", "#a8b3c0"), ("#7d5a3c", "#cfa27d"), ("#4c6b1f", "#a9cb73"), ("#8a4a66", "#e0a1bd"))
"""On light and on dark ground: of backends that have no colour of their own, or that this release does not know."""

_OF_CACHE: Mapping[KVCache, str] = MappingProxyType(
    {
        "static": "The cache is static: it has a fixed size, that of the context, and every call reads all of it.",
        "growing": "The cache grows: every call concatenates its keys and values with those of the tokens before.",
    }
)


def model(name: str) -> str:
    """`ResNet-50` for `resnet50`, `BERT 1a2b3c4d` for one with weights of its own; an unknown name as it is."""
    if models.has_own_weights(name):  # the rest of such a name may be a stranger's invention
        return models.title_of_own_weights(name)
    return models.get(name).short_title if name in (*models.names(), *models.answering(), *models.operators()) else name


def backend(name: str) -> str:
    """`PyTorch, compiled` for `torch-compile`; a name that is not known as it is."""
    return _BACKENDS[name].title if name in _BACKENDS else name


def network(case: Case) -> str:
    """Return what a case runs: `ResNet-50`, or the small network that is trained to a target in its place."""
    return _trained_to_target(case.model) if case.converges else model(case.model)


def question(name: str) -> str:
    """`ResNet-50, training` for `resnet50 training`: what an answer answers."""
    plain, _, scenario = name.partition(" ")
    scenario_title = scenario.partition(" in ")[0]
    kind, _, depth = scenario.partition(" at ")
    if depth:
        return f"{model(plain)}, {kind} at depth {depth}"
    if scenario_title == "convergence":
        return f"{_trained_to_target(plain)}, {scenario}"
    return f"{model(plain)}, {scenario}" if scenario_title == "training" else model(name)


def _trained_to_target(name: str) -> str:
    goal = models.get(name).goal if name in models.names() else None
    return goal.title if goal is not None else f"small network of {model(name)}’s layers"


def scenario(name: str) -> str:
    """`Cold start` for `cold-start`."""
    return scenarios.get(name).title if name in scenarios.NAMES else name


def batch(case: Case) -> str:
    """`, batch 8`; empty where another tool measured it, and does not say."""
    return "" if case.imported else f", batch {case.batch}"


def scenario_title(case: Case) -> str:
    """Return the scenario of a case; calls of one item each are never called throughput."""
    title = "One item at a time" if case.one_by_one else scenario(case.scenario)
    return f"{title} at depth {case.depth}, {case.kv_cache} cache" if case.depth else title


def note(case: Case) -> str:
    """Return what must be known to read a case's figures; empty: nothing more."""
    return " ".join(filter(None, (case.definition.note, _OF_CACHE[case.kv_cache] if case.depth else "")))


def is_framework(distribution: str) -> bool:
    """Whether a distribution is a backend's own, made for a CPU or for a GPU: `tensorflow-cpu`, `onnxruntime-gpu`."""
    return _plain(distribution) in {_plain(info.distribution) for info in _BACKENDS.values()}


def _plain(distribution: str) -> str:
    return distribution.removesuffix("-cpu").removesuffix("-gpu")


def colour(name: str) -> str:
    """Return the CSS class that colours a backend: always the same one, and from a fixed set."""
    if name in _BACKENDS and _BACKENDS[name].colours is not None:
        return f"b-{name}"
    return f"b-spare-{_spare(name)}"


def _spare(name: str) -> int:
    """Return which spare colour a backend has: those of this repository's own plug-ins have one each."""
    return hashlib.sha256(name.encode()).digest()[1] % len(_SPARE_COLOURS)


def colour_on_white(name: str) -> str:
    """Return a backend's colour on light ground, as `#rrggbb`."""
    colours = _BACKENDS[name].colours if name in _BACKENDS else None
    return (colours or _SPARE_COLOURS[_spare(name)])[0]


def colour_styles() -> str:
    """Return the style sheet of the classes that `colour` names."""
    colours = {f"b-{name}": info.colours for name, info in _BACKENDS.items() if info.colours is not None}
    colours |= {f"b-spare-{index}": pair for index, pair in enumerate(_SPARE_COLOURS)}
    light = " ".join(f"--{name}: {pair[0]};" for name, pair in colours.items())
    dark = " ".join(f"--{name}: {pair[1]};" for name, pair in colours.items())
    classes = " ".join(f".{name} {{ --b: var(--{name}); }}" for name in colours)
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{classes}\n"


def anchors(cases: Iterable[str]) -> tuple[str, ...]:
    """Return an element id for each case id, all different: `case-mlp-latency-fp32-b1-t2-cpu`."""
    found: dict[str, None] = {}
    for case in cases:
        plain = anchor("case", case)
        count = itertools.count(2)
        name = plain
        while name in found:
            name = f"{plain}-{next(count)}"
        found[name] = None
    return tuple(found)


def anchor(*parts: str) -> str:
    """Return an element id made of lower-case letters, digits and hyphens only."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")[:80] or "section"
