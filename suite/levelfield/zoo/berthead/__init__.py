"""BERT with a head: one that finds an answer in a text, or one that tells classes of texts apart.

Both are the published ones, named as in transformers: `qa_outputs`, a dense layer over every token, and `pooler` and
`classifier`, two dense layers over the first token with tanh between them. The encoder is that of `zoo.bert`.
"""

from typing import Annotated

from msgspec import Meta

from levelfield.zoo import bert
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor, dense
from levelfield.zoo.weights import Arrays

ANSWERS = "qa_outputs"
POOLER, CLASSIFIER = "pooler.dense", "classifier"
SEQUENCE_OF_ANSWERS = 384
"""Tokens of a question and a window over its text, as BERT's published code for SQuAD has them."""
SIDES = 2
"""Where an answer begins, and where it ends."""
CLASSES = (1, 2, 3)
"""Outputs of the built-in classifiers: a score, and the classes of GLUE's tasks."""
FAMILY = "BERT with a head"
"""What networks of such layers are called, whatever their size."""
_STD = 0.05
"""Larger than the encoder's, so that answers to seeded inputs differ."""


class Sizes(bert.Sizes, frozen=True):
    """Sizes of a BERT with a head; those of BERT-base unless said otherwise."""

    classes: Annotated[int, Meta(ge=0, le=1 << 16)] = 0
    """Outputs of the classifier; 0: the head finds answers."""

    @property
    def sequence(self) -> int:
        """Tokens of an input, where there are positions for so many."""
        return min(bert.SEQUENCE if self.classes else SEQUENCE_OF_ANSWERS, self.positions)


BASE = Sizes()


def _dense(name: str, fan_in: int, fan_out: int) -> tuple[Parameter, ...]:
    return (Parameter(f"{name}.weight", (fan_out, fan_in), std=_STD), Parameter(f"{name}.bias", (fan_out,), std=_STD))


def of_weights(name: str, sizes: Sizes) -> Model:
    """Return the BERT with a head of these sizes."""
    encoder = bert.of_weights(name, sizes)
    if sizes.classes:
        title, kind = f"classifier of {sizes.classes}" if sizes.classes > 1 else "scores", "SequenceClassification"
        output = Tensor("logits", (sizes.classes,), "float32")
        head = _dense(POOLER, sizes.hidden, sizes.hidden) + _dense(CLASSIFIER, sizes.hidden, sizes.classes)
    else:
        title, kind = "answers in a text", "QuestionAnswering"
        output = Tensor("begin_and_end", (sizes.sequence, SIDES), "float32")
        head = _dense(ANSWERS, sizes.hidden, SIDES)
    return Model(
        name=name,
        title=f"{encoder.title}, {title}",
        inputs=encoder.inputs,
        output=output,
        parameters=(*encoder.parameters, *head),
        source=f"Devlin et al., arXiv:1810.04805; as in transformers' BertFor{kind}",
        package="berthead",
        short_title=f"BERT, {title}",
        batches=encoder.batches,
        by_default=False,
        reference_batch=max(1, encoder.reference_batch * bert.SEQUENCE // sizes.sequence),
        activations=encoder.activations,
        quantized=encoder.quantized,
        sizes=sizes,
    )


MODELS = (
    of_weights("bert-squad", BASE),
    *(of_weights(f"bert-classifier-{count}", Sizes(classes=count)) for count in CLASSES),
)
"""Those with seeded weights."""


def seeded_input(name: str, *, sizes: Sizes = BASE) -> Arrays:
    """Return the input of that name: pairs of texts as BERT's are, of the network's own length."""
    return bert.seeded_input(name, sizes=sizes)


def layers(*, sizes: Sizes = BASE) -> tuple[Layer, ...]:
    """Return the encoder's layers, and those of the head."""
    encoder = bert.layers(sizes=sizes)
    if not sizes.classes:
        return (*encoder, dense(ANSWERS, sizes.sequence, sizes.hidden, SIDES))
    pooled = dense(POOLER, 1, sizes.hidden, sizes.hidden)
    return (*encoder, pooled, dense(CLASSIFIER, 1, sizes.hidden, sizes.classes))
