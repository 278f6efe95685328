"""The loss and gradients of the digits' ResNet in NumPy float64, of ResNet-50's layers and their ways back."""

from suite.zoo.digits_resnet.spec import blocks
from suite.zoo.resnet50.backward import Array, Back, Tape, Tensors, bottleneck, conv, head, norm, relu
from suite.zoo.training.losses import cross_entropy


def loss_and_gradients(w: Tensors, batch: Tensors) -> tuple[float, dict[str, Array], dict[str, Array]]:
    """Compute the loss, its gradients by every trained weight, and the running statistics after this batch.

    Parameters
    ----------
    w
        Weights, float32 or float64.
    batch
        `images`, shape (batch, 1, 8, 8), and `labels`, shape (batch,).
    """
    tape = Tape(w)
    back: list[Back] = []

    def after(made: tuple[Array, Back]) -> Array:
        back.append(made[1])
        return made[0]

    x = after(conv(tape, "conv1", batch["images"].astype(float).transpose(0, 2, 3, 1), padding=1))
    x = after(relu(after(norm(tape, "bn1", x))))
    for name, _, _, stride in blocks():
        x = after(bottleneck(tape, name, x, stride))
    loss, d = cross_entropy(after(head(tape)(x)), batch["labels"])
    while back:
        d = back.pop()(d)
    return loss, tape.gradients, tape.statistics
