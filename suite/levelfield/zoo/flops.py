"""How much a model computes and moves, by a walk over the layers of its definition."""

from levelfield.record.measured import Work
from levelfield.zoo import decoding
from levelfield.zoo.decoding import Call
from levelfield.zoo.spec import Layer, Model

ITEM_BYTES = 4
"""A float32."""


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
