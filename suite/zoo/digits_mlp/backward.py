"""The loss and gradients of the digits' MLP in NumPy float64."""

from suite.zoo.digits_mlp.spec import LAYERS
from suite.zoo.mlp.backward import Array, Tensors, through
from suite.zoo.training.losses import cross_entropy


def loss_and_gradients(w: Tensors, batch: Tensors) -> tuple[float, dict[str, Array], dict[str, Array]]:
    """Compute the loss, its gradients by every weight, and no new statistics (there are none).

    Parameters
    ----------
    w
        Weights, float32 or float64.
    batch
        `features`, shape (batch, 64), and `labels`, shape (batch,).
    """
    return through(w, batch["features"], LAYERS, lambda logits: cross_entropy(logits, batch["labels"]))
