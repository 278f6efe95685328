"""The MLPs in Keras 3, on any of their engines."""

from typing import Any

import keras

from levelfield.zoo.native import fill
from levelfield.zoo.weights import Arrays


def build(w: Arrays, *, logits: bool = False) -> keras.Model:
    """Return the network with its weights: from `features` to the probability, or to the logits of several classes."""
    count = len(w) // 2
    features = x = keras.Input((w["layers.0.weight"].shape[0],), dtype="float32", name="features")
    for number in range(count):
        bias = w[f"layers.{number}.bias"]
        answer = "sigmoid" if len(bias) == 1 and not logits else None
        layer = keras.layers.Dense(len(bias), activation="relu" if number < count - 1 else answer)
        x = layer(x)
        fill(layer, w, f"layers.{number}.weight", f"layers.{number}.bias")
    return keras.Model(features, x)


def trainable(w: Arrays) -> tuple[keras.Model, keras.Model, Any]:
    """Return the network that is trained, the one that answers with the same variables, and the loss.

    The loss is computed from the logits: from probabilities it would lose digits where they saturate.
    """
    network = build(w, logits=True)
    if network.output.shape[1] > 1:
        return network, network, keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    answer = keras.layers.Activation("sigmoid")(network.output)
    return network, keras.Model(network.input, answer), keras.losses.BinaryCrossentropy(from_logits=True)
