"""The MLPs in MXNet."""

import itertools

from mxnet import sym

from levelfield.zoo.mlp import widths
from levelfield.zoo.spec import Model
from levelfield_mxnet.networks import Symbol, Weights


def forward(model: Model, w: Weights, features: Symbol) -> Symbol:
    """Compute the probability, shape (batch, 1), or `logits`, shape (batch, classes), from `features`.

    `features`: float32, shape (batch, first width).
    """
    x = features
    *hidden, last = [fan_out for _, fan_out in itertools.pairwise(widths(model))]
    for layer, width in enumerate(hidden):
        x = sym.Activation(dense(w, f"layers.{layer}", x, width), act_type="relu")
    x = dense(w, f"layers.{len(hidden)}", x, last)
    return sym.sigmoid(x) if last == 1 else x


def dense(w: Weights, name: str, x: Symbol, width: int) -> Symbol:
    """Apply a dense layer: (batch, in) → (batch, width)."""
    return sym.FullyConnected(x, w[f"{name}.weight"], w[f"{name}.bias"], num_hidden=width)
