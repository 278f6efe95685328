"""Keras 3 on JAX."""

from levelfield.backends.keras import Keras


class KerasJAX(Keras):
    """Keras with JAX as its engine."""

    name = "keras-jax"
