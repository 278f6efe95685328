"""Keras 3 on JAX."""

from suite.backends.keras import Keras


class KerasJAX(Keras):
    """Keras with JAX as its engine."""

    name = "keras-jax"
