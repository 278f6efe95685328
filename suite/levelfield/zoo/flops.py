"""How much a model computes and moves, by a walk over the layers of its definition, and which operators they are."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from levelfield.record.measured import Work
from levelfield.zoo import decoding, models
from levelfield.zoo.decoding import Call
from levelfield.zoo.spec import Layer, Model

ITEM_BYTES = 4
"""A float32."""
ATTENTION = "attention"
"""Kind of layer that a network has two of, the scores and the context, where an operator is one."""
_Shape: TypeAlias = tuple[str, int, int, int]


def layers(model: Model, call: Call | None = None) -> tuple[Layer, ...]:
    """Return the layers of a model's definition, in the order in which they are computed."""
    if call is not None:
        return decoding.layers(model, call)
    if model.operator is not None:
        return (model.operator.layer,)
    found: tuple[Layer, ...] = model.module().layers()
    return found


def count(model: Model, batch: int = 1, call: Call | None = None) -> Work:
    """Count what one call of a model computes and moves; of one that answers token by token, one step of the call."""
    if not model.has_inputs:
        raise ValueError(f"{model.name} does not describe its layers, so its arithmetic cannot be counted.")
    walked = layers(model, call)
    by_kind: dict[str, int] = {}
    for layer in walked:
        if layer.macs:
            by_kind[layer.kind] = by_kind.get(layer.kind, 0) + batch * layer.macs
    moved = [batch * (layer.reads + layer.writes) * ITEM_BYTES for layer in walked]
    return Work(
        model=model.name,
        batch=batch,
        macs=batch * sum(layer.macs for layer in walked),
        weight_bytes=ITEM_BYTES * sum(layer.weights for layer in walked),
        activation_bytes=sum(moved),
        widest_bytes=max(moved),
        macs_by_kind=by_kind,
    )


def operators_of(name: str, among: Iterable[str]) -> dict[str, int]:
    """Find the layers of a network among operators; a bias, which an operator lacks, makes no difference here."""
    if models.get(name).operator is not None:
        return {}
    known = {shape: each for each in among for shape in map(_shape, _operator(each))}
    shapes = map(_shape, _joined(layers(models.get(name)))) if known else ()
    return dict(Counter(known[shape] for shape in shapes if shape in known))


def _operator(name: str) -> tuple[Layer, ...]:
    operator = models.get(name).operator
    return () if operator is None else (operator.layer,)


def _shape(layer: Layer) -> _Shape:
    return layer.kind, layer.macs, layer.reads, layer.writes


def _joined(layers: Sequence[Layer]) -> Iterator[Layer]:
    """Yield the layers, with the two products of attention as one, whose scores are neither read nor written."""
    waiting: Layer | None = None
    for layer in layers:
        if layer.kind != ATTENTION:
            yield layer
        elif waiting is None:
            waiting = layer
        else:
            yield msgspec.structs.replace(
                layer,
                macs=waiting.macs + layer.macs,
                reads=waiting.reads + layer.reads - waiting.writes,
            )
            waiting = None
