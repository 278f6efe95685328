"""How much a model computes and moves, by a walk over the layers of its definition."""

import msgspec

from levelfield.zoo import decoding
from levelfield.zoo.decoding import Call
from levelfield.zoo.spec import Layer, Model

ITEM_BYTES = 4
"""A float32."""


class Count(msgspec.Struct, frozen=True):
    """What one call computes and moves, in float32."""

    macs: int
    """Multiply-accumulates of matrix products and convolutions (a FLOP count is twice that); element-wise work is not
    counted, as is usual."""
    weight_bytes: int
    """All weights that are needed, read once."""
    activation_bytes: int
    """What every layer reads and writes, element-wise work fused: the traffic if nothing stayed in a cache between two
    layers."""
    widest_bytes: int
    """Activations of the widest layer, in and out: what must fit into a cache beside the weights."""
    macs_by_kind: dict[str, int]
    """Multiply-accumulates by the kind of layer (`zoo.spec.Layer.kind`); kinds without any are left out."""


def layers(model: Model, call: Call | None = None) -> tuple[Layer, ...]:
    """Return the layers of a model's definition, in the order in which they are computed."""
    if call is not None:
        return decoding.layers(model, call)
    if model.operator is not None:
        return (model.operator.layer,)
    found: tuple[Layer, ...] = model.module("spec").layers()
    return found


def count(model: Model, batch: int = 1, call: Call | None = None) -> Count:
    """Count what one call of a model computes and moves.

    `call`: what is computed where it answers token by token: one step of it is counted. None: a plain call. Raises
    ValueError: if the model has no definition to walk over.
    """
    if not model.has_inputs:
        raise ValueError(f"{model.name} does not describe its layers, so its arithmetic cannot be counted.")
    walked = layers(model, call)
    by_kind: dict[str, int] = {}
    for layer in walked:
        if layer.macs:
            by_kind[layer.kind] = by_kind.get(layer.kind, 0) + batch * layer.macs
    moved = [batch * (layer.reads + layer.writes) * ITEM_BYTES for layer in walked]
    return Count(
        macs=batch * sum(layer.macs for layer in walked),
        weight_bytes=ITEM_BYTES * sum(layer.weights for layer in walked),
        activation_bytes=sum(moved),
        widest_bytes=max(moved),
        macs_by_kind=by_kind,
    )
