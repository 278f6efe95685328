"""Files of layers for tests."""

import hashlib
from typing import Any

from suite.record.layers import SCHEMA, Launch, Layer, Layers
from suite.record.schema import Image

NAMES = ("linear", "relu", "linear_1", "probability")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def launch(output: str, begin: int = len(NAMES), mark: str = "wrong") -> Launch:
    """Return a launch whose layers are right before the layer of this number, and marked from it on."""
    layers = tuple(
        Layer(name, digest(name if number < begin else f"{name} {mark}")) for number, name in enumerate(NAMES)
    )
    return Launch(output, layers[-1].sha256, layers)


def layered(*launches: Launch, **changes: Any) -> Layers:
    known: dict[str, Any] = {
        "schema": SCHEMA,
        "tool_version": "0",
        "tool_sha256": "0" * 64,
        "written": "2026-11-25T02:00:00Z",
        "arm": "onnxruntime",
        "version": "1",
        "model": "mlp",
        "precision": "fp32",
        "batch": 1,
        "threads": 2,
        "device": "cpu",
        "items": 2,
        "image": Image(name="onnxruntime", variant="cpu", launcher="docker", layers=("sha256:1",)),
        "data": ("d",),
        "hardware": {"cpu model": "one"},
        "how": "One by one.",
        "launches": launches,
    }
    return Layers(**(known | changes))
