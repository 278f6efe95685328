"""How much arithmetic a model is, from its definition."""

from suite.zoo.bert import spec as bert
from suite.zoo.canary import spec as canary
from suite.zoo.resnet50 import spec as resnet50
from suite.zoo.spec import Model


def macs(model: Model, batch: int = 1) -> int:
    """Count the multiply-accumulates of matrix products and convolutions (a FLOP count is twice that).

    Parameters
    ----------
    model
        The model.
    batch
        Number of inputs.

    Returns
    -------
    int
        Multiply-accumulates of one call; element-wise work is not counted, as is usual.
    """
    return batch * _PER_INPUT[model.name](model)


def _dense(model: Model) -> int:
    """Every matrix once."""
    return sum(parameter.count for parameter in model.parameters if len(parameter.shape) == 2)


def _resnet50(model: Model) -> int:
    return _dense(model) + sum(conv.macs for conv in resnet50.convolutions())


def _bert(model: Model) -> int:
    matrices = sum(
        parameter.count
        for parameter in model.parameters
        if len(parameter.shape) == 2 and not parameter.name.startswith("embeddings.")
    )
    # Scores and context: sequence² × hidden each, in every layer.
    return bert.SEQUENCE * matrices + bert.LAYERS * 2 * bert.SEQUENCE**2 * bert.HIDDEN


def _canary(_: Model) -> int:
    return 2 * canary.WIDTH**3


_PER_INPUT = {"mlp": _dense, "resnet50": _resnet50, "bert": _bert, "canary": _canary}
