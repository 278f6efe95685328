"""Fills layers of Keras's in a process of its own, and prints what became of it. Usage: keras_weights_child.py"""

import json
import os
from typing import Any

import numpy as np

os.environ["KERAS_BACKEND"] = "jax"
import keras

from levelfield.zoo import keras_weights
from levelfield.zoo.weights import Arrays


def main() -> None:
    given = keras.Input((4,))
    layer = keras.layers.Dense(6)
    whole = keras.Model(given, keras.layers.Dense(1)(layer(given)))
    parts = keras.layers.EinsumDense("ab,bcd->acd", output_shape=(3, 2), bias_axes="cd")
    parts.build((None, 4))
    made: Arrays = {"kernel": np.arange(24, dtype=np.float32).reshape(4, 6), "bias": np.arange(6, dtype=np.float32) / 7}
    keras_weights.fill(layer, made, "kernel", "bias")
    keras_weights.fill(parts, made, "kernel", "bias")
    known = keras_weights.variables(whole)
    copied = keras_weights.array(known["kernel"], (4, 6))
    before = copied.copy()
    known["kernel"].assign(np.zeros((4, 6), dtype=np.float32))
    print(
        json.dumps(
            {
                "variables": {name: list(variable.shape) for name, variable in known.items()},
                "all": len(whole.weights),
                "bias": [float(each) for each in keras_weights.array(known["bias"], (6,))],
                "copied": copied.tolist(),
                "a copy": np.array_equal(copied, before),
                "by heads": list(parts.weights[0].shape),
                "back": keras_weights.array(parts.weights[0], (4, 6)).tolist(),
                "refused": [refused(layer, made, "kernel"), refused(layer, made, "bias", "kernel")],
            }
        )
    )


def refused(layer: Any, made: Arrays, *names: str) -> str:
    try:
        keras_weights.fill(layer, made, *names)
    except ValueError as why:
        return str(why)
    return "nothing"


if __name__ == "__main__":
    main()
