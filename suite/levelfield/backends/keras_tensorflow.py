"""Keras 3 on TensorFlow."""

from levelfield.backends.keras import Keras


class KerasTensorFlow(Keras):
    """Keras with TensorFlow as its engine."""

    name = "keras-tensorflow"
