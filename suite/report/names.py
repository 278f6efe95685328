"""What models, scenarios and backends are called on a page, and which colour a backend always has.

Names come from records, which come from strangers: a name that is not known here is shown as it stands, and never
becomes part of a class or an anchor.
"""

import hashlib
import itertools
import re
from collections.abc import Iterable

_MODELS = {
    "mlp": "MLP",
    "resnet50": "ResNet-50",
    "bert": "BERT-base",
    "bert-base": "BERT-base",
    "bert_base": "BERT-base",
}

_SCENARIOS = {
    "latency": "Latency",
    "throughput": "Throughput",
    "training": "Training",
    "convergence": "Time to accuracy",
    "data-pipeline": "Data pipeline",
    "cold-start": "Cold start",
    "memory": "Memory",
    "latency-device": "Latency on the device",
    "throughput-device": "Throughput on the device",
}

_COLOURED = ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax", "onnxruntime", "openvino")

SPARE_COLOURS = 4
"""Colours for backends that this release does not know."""


def model(name: str) -> str:
    """`ResNet-50` for `resnet50`."""
    return _MODELS.get(name, name)


def question(name: str) -> str:
    """`ResNet-50, training` for `resnet50 training`: what an answer answers."""
    plain, _, scenario = name.partition(" ")
    known = scenario.partition(" in ")[0] in {"training", "convergence"}
    return f"{model(plain)}, {scenario}" if known else model(name)


def scenario(name: str) -> str:
    """`Cold start` for `cold-start`."""
    return _SCENARIOS.get(name, name)


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
