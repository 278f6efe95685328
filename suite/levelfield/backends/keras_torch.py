"""Keras 3 on PyTorch."""

from levelfield.backends.keras import Keras


class KerasTorch(Keras):
    """Keras with PyTorch as its engine."""

    name = "keras-torch"
