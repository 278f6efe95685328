"""Which operators a network consists of: its layers, as far as their shapes are among those of the operators."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from levelfield.zoo import flops, models
from levelfield.zoo.spec import Layer

ATTENTION = "attention"
"""Kind of layer that a network has two of, the scores and the context, where an operator is one."""
_Shape: TypeAlias = tuple[str, int, int, int]


def of(name: str, among: Iterable[str]) -> dict[str, int]:
    """Find the layers of a network among operators; a bias, which an operator lacks, makes no difference here."""
    if models.get(name).operator is not None:
        return {}
    known = {shape: each for each in among for shape in map(_shape, _operator(each))}
    shapes = map(_shape, _joined(flops.layers(models.get(name)))) if known else ()
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
