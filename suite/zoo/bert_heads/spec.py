"""BERT-base with a head: one that finds an answer in a text, and one that tells classes of texts apart.

Both are the published ones, named as in transformers: `qa_outputs`, a dense layer over every token, and `pooler` and
`classifier`, two dense layers over the first token with tanh between them. The encoder is that of `suite.zoo.bert`.
"""

from suite.zoo.bert import spec as bert
from suite.zoo.spec import Layer, Model, Parameter, Tensor, dense
from suite.zoo.weights import Arrays

ANSWERS = "qa_outputs"
POOLER, CLASSIFIER = "pooler.dense", "classifier"
SEQUENCE_OF_ANSWERS = 384
"""Tokens of a question and a window over its text, as BERT's published code for SQuAD has them."""
SIDES = 2
"""Where an answer begins, and where it ends."""
CLASSES = (1, 2, 3)
"""Outputs of classifiers: a score, and the classes of GLUE's tasks."""
_STD = 0.05
"""Larger than the encoder's, so that answers to seeded inputs differ."""


def _dense(name: str, fan_out: int) -> tuple[Parameter, ...]:
    return (
        Parameter(f"{name}.weight", (fan_out, bert.HIDDEN), std=_STD),
        Parameter(f"{name}.bias", (fan_out,), std=_STD),
    )


def _model(name: str, title: str, tokens: int, output: Tensor, head: tuple[Parameter, ...], source: str) -> Model:
    return Model(
        name=name,
        title=f"{title}, sequence {tokens}",
        inputs=tuple(Tensor(each.name, (tokens,), each.dtype) for each in bert.MODEL.inputs),
        output=output,
        parameters=(*bert.MODEL.parameters, *head),
        source=f"Devlin et al., arXiv:1810.04805; as in transformers' {source}",
        package="bert_heads",
        short_title=title,
        batches=bert.MODEL.batches,
        by_default=False,
        reference_batch=max(1, bert.MODEL.reference_batch * bert.SEQUENCE // tokens),
        activations=bert.MODEL.activations * tokens // bert.SEQUENCE,
        quantized=bert.MODEL.quantized,
        answers_data=True,
    )


ANSWERING = _model(
    "bert-squad",
    "BERT-base for questions",
    SEQUENCE_OF_ANSWERS,
    Tensor("begin_and_end", (SEQUENCE_OF_ANSWERS, SIDES), "float32"),
    _dense(ANSWERS, SIDES),
    "BertForQuestionAnswering",
)
CLASSIFYING = tuple(
    _model(
        f"bert-classifier-{count}",
        f"BERT-base, classifier of {count}" if count > 1 else "BERT-base, scores",
        bert.SEQUENCE,
        Tensor("logits", (count,), "float32"),
        (*_dense(POOLER, bert.HIDDEN), *_dense(CLASSIFIER, count)),
        "BertForSequenceClassification",
    )
    for count in CLASSES
)
MODELS = (ANSWERING, *CLASSIFYING)


def finds_answers(model: Model) -> bool:
    """Return whether a model has the head that finds answers; else it has the one that tells classes apart."""
    return len(model.output.shape) > 1


def seeded_input(model: Model, name: str) -> Arrays:
    """Return the input of that name: pairs of texts as BERT's are, of the model's own length.

    Parameters
    ----------
    model
        One of `MODELS`.
    name
        Of the input.
    """
    return bert.seeded_input(name, model.inputs[0].shape[0])


def layers(model: Model) -> tuple[Layer, ...]:
    """Return the encoder's layers, and those of the head.

    Parameters
    ----------
    model
        One of `MODELS`.
    """
    tokens = model.inputs[0].shape[0]
    encoder = bert.layers(tokens)
    if finds_answers(model):
        return (*encoder, dense(ANSWERS, tokens, bert.HIDDEN, SIDES))
    pooled = dense(POOLER, 1, bert.HIDDEN, bert.HIDDEN)
    return (*encoder, pooled, dense(CLASSIFIER, 1, bert.HIDDEN, model.output.shape[0]))
