"""The MLP in Keras 3, on any of its engines."""

import keras

from suite.zoo.weights import Arrays


def build(w: Arrays) -> keras.Model:
    """Return the network with its weights: from `features` to the probability, or to the logits of several classes.

    Parameters
    ----------
    w
        Weights by name, as `suite.zoo.native.channels_last` returns them.
    """
    count = len(w) // 2
    features = x = keras.Input((w["layers.0.weight"].shape[0],), dtype="float32", name="features")
    for number in range(count):
        kernel, bias = w[f"layers.{number}.weight"], w[f"layers.{number}.bias"]
        answer = "sigmoid" if len(bias) == 1 else None
        layer = keras.layers.Dense(len(bias), activation="relu" if number < count - 1 else answer)
        x = layer(x)
        layer.set_weights([kernel, bias])
    return keras.Model(features, x)
