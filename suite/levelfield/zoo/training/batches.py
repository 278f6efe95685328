"""Batches to train on: inputs with labels, the same bits everywhere; item *i* depends on *i* alone.

Labels are seeded and have nothing to do with the inputs: speed and parity do not care. The masked words of BERT are the
words that stood there.
"""

from levelfield.zoo import inputs as zoo_inputs
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import SEED, Arrays


def names(model: Model) -> tuple[str, ...]:
    """Return the names of a batch's tensors in the order in which definitions take them: inputs, then labels."""
    return (*(tensor.name for tensor in model.inputs), *model.labels)


def make(model: Model, start: int, count: int, *, layout: str = "NCHW") -> Arrays:
    """Make items `start` … `start + count - 1` of a model's training set.

    Raises ValueError: as `zoo.inputs.make`, or the model is not one that is trained on batches made here.
    """
    if model.recipe is None:
        raise ValueError(f"{model.title} is not trained.")
    made = zoo_inputs.make(model, start, count, layout=layout)
    streams = [f"{SEED}/{model.name}/labels/{index}" for index in range(start, start + count)]
    batch: Arrays = model.module().labelled(made, streams)
    return batch
