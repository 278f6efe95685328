"""What models, scenarios and backends are called on a page, and which colour a backend always has.

Names come from records, which are not trusted: a name that is not known here is shown as it is, and never
becomes part of a class or an anchor.
"""

import hashlib
import itertools
import re
from collections.abc import Iterable

from suite import scenarios
from suite.record.schema import Case

_MODELS = {
    "mlp": "MLP",
    "resnet50": "ResNet-50",
    "bert": "BERT-base",
    "bert-base": "BERT-base",
    "bert_base": "BERT-base",
}

_TRAINED_TO_TARGET = {"mlp": "small MLP", "resnet50": "two-bottleneck ResNet"}
"""What the scenario `convergence` trains in place of a model (`suite.zoo.training.convergence.GOALS`)."""

_COLOURED = ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax", "onnxruntime", "openvino")

SPARE_COLOURS = 4
"""Colours for backends that this release does not know."""


def model(name: str) -> str:
    """`ResNet-50` for `resnet50`."""
    return _MODELS.get(name, name)


def network(case: Case) -> str:
    """Return what a case runs: `ResNet-50`, or the small network that is trained to a target in its place.

    Examples
    --------
    >>> network(Case("resnet50", "latency", "fp32", 1, 2)), network(Case("resnet50", "convergence", "fp32", 64, 2))
    ('ResNet-50', 'two-bottleneck ResNet')
    """
    return _trained_to_target(case.model) if case.converges else model(case.model)


def question(name: str) -> str:
    """`ResNet-50, training` for `resnet50 training`: what an answer answers."""
    plain, _, scenario = name.partition(" ")
    asked = scenario.partition(" in ")[0]
    if asked == "convergence":
        return f"{_trained_to_target(plain)}, {scenario}"
    return f"{model(plain)}, {scenario}" if asked == "training" else model(name)


def _trained_to_target(name: str) -> str:
    return _TRAINED_TO_TARGET.get(name, f"small network of {model(name)}’s layers")


def scenario(name: str) -> str:
    """`Cold start` for `cold-start`."""
    return scenarios.get(name).title if name in scenarios.NAMES else name


def asked(case: Case) -> str:
    """Return the scenario of a case; calls of one item each are never called throughput.

    Examples
    --------
    >>> asked(Case("bert", "throughput", "fp32", 8, 2)), asked(Case("bert", "throughput", "fp32", 1, 2))
    ('Throughput', 'One item at a time')
    """
    return "One item at a time" if case.one_by_one else scenario(case.scenario)


def colour(backend: str) -> str:
    """Return the CSS class that colours a backend: always the same one, and from a fixed set."""
    if backend in _COLOURED:
        return f"b-{backend}"
    return f"b-spare-{hashlib.sha256(backend.encode()).digest()[0] % SPARE_COLOURS}"


def anchors(cases: Iterable[str]) -> tuple[str, ...]:
    """Return an element id for each case id, all different: `case-mlp-latency-fp32-b1-t2-cpu`.

    They begin alike, so that a stranger's name can be no other element's.
    """
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
