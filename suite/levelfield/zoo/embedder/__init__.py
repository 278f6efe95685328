"""A text embedder: BERT-base, the mean over the tokens that are not padding, and that at unit length.

It is what sentence-transformers adds to an encoder (Reimers and Gurevych 2019). The encoder is BERT-base as it is in
`zoo.bert`, with its weights' names, shapes and inputs.
"""

import msgspec

from levelfield.zoo import bert
from levelfield.zoo.bert import Sizes
from levelfield.zoo.spec import Layer, Model, Tensor
from levelfield.zoo.weights import Arrays

MODEL = Model(
    name="embedder",
    title="Text embedder: BERT-base, sequence 128, mean pooling",
    inputs=bert.MODEL.inputs,
    output=Tensor("sentence_embedding", (bert.HIDDEN,), "float32"),
    parameters=bert.MODEL.parameters,
    source="Reimers and Gurevych, arXiv:1908.10084: mean pooling and normalisation over BERT-base",
    package="embedder",
    short_title="text embedder",
    batches=bert.MODEL.batches | {"full": (4, 16, 32)},
    by_default=False,
    reference_batch=bert.MODEL.reference_batch,
    activations=bert.MODEL.activations,
)


FAMILY = "Text embedder"
"""What networks of such layers are called, whatever their size."""


def of_weights(name: str, sizes: Sizes) -> Model:
    """Return the text embedder of a user's own weights of BERT."""
    return msgspec.structs.replace(
        bert.of_weights(name, sizes),
        title=f"Text embedder: BERT of {sizes.layers} layers, width {sizes.hidden}, mean pooling",
        output=Tensor("sentence_embedding", (sizes.hidden,), "float32"),
        source=MODEL.source,
        package="embedder",
        short_title=FAMILY,
        batches=MODEL.batches,
        quantized=(),
    )


def seeded_input(name: str, *, sizes: Sizes = bert.BASE) -> Arrays:
    """Return the input of that name, as BERT's are."""
    return bert.seeded_input(name, sizes=sizes)


def layers(*, sizes: Sizes = bert.BASE) -> tuple[Layer, ...]:
    """Return BERT's layers: the mean and the norm are no products."""
    return bert.layers(sizes=sizes)
