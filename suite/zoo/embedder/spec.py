"""A text embedder: BERT-base, the mean over the tokens that are not padding, and that at unit length.

It is what sentence-transformers adds to an encoder (Reimers and Gurevych 2019). The encoder is BERT-base as it is in
`suite.zoo.bert`, with its weights' names, shapes and inputs.
"""

from suite.zoo.bert import spec as bert
from suite.zoo.spec import Layer, Model, Tensor
from suite.zoo.weights import Arrays

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


def seeded_input(name: str) -> Arrays:
    """Return the input of that name, as BERT's are."""
    return bert.seeded_input(name)


def layers() -> tuple[Layer, ...]:
    """Return BERT's layers: the mean and the norm are no products."""
    return bert.layers()
