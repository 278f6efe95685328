"""BERT-base's layers, in the order data flows."""

from suite.zoo.bert.spec import HEAD, HEADS, HIDDEN, INNER, LAYERS, SEQUENCE, TYPES
from suite.zoo.layers import Layer, dense


def layers() -> tuple[Layer, ...]:
    """Return the lookup of the embeddings, and six dense layers and two products of attention in each of twelve."""
    return (_embeddings(), *(part for number in range(LAYERS) for part in _layer(f"encoder.layer.{number}")))


def _embeddings() -> Layer:
    """Return the lookup: of the word table only the rows of the input are read, so they count as activations."""
    return Layer(
        name="embeddings",
        kind="lookup",
        macs=0,
        weights=(SEQUENCE + TYPES) * HIDDEN,
        reads=SEQUENCE * HIDDEN,
        writes=SEQUENCE * HIDDEN,
    )


def _layer(name: str) -> tuple[Layer, ...]:
    scores = HEADS * SEQUENCE**2
    return (
        *(dense(f"{name}.attention.self.{part}", SEQUENCE, HIDDEN, HIDDEN) for part in ("query", "key", "value")),
        Layer(
            name=f"{name}.attention.scores",
            kind="attention",
            macs=scores * HEAD,
            weights=0,
            reads=2 * SEQUENCE * HIDDEN,
            writes=scores,
        ),
        Layer(
            name=f"{name}.attention.context",
            kind="attention",
            macs=scores * HEAD,
            weights=0,
            reads=scores + SEQUENCE * HIDDEN,
            writes=SEQUENCE * HIDDEN,
        ),
        dense(f"{name}.attention.output.dense", SEQUENCE, HIDDEN, HIDDEN),
        dense(f"{name}.intermediate.dense", SEQUENCE, HIDDEN, INNER),
        dense(f"{name}.output.dense", SEQUENCE, INNER, HIDDEN),
    )
