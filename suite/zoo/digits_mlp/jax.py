"""The digits' MLP in JAX."""

import jax

from suite.zoo.digits_mlp.spec import LAYERS
from suite.zoo.mlp.jax import logits, prepare

__all__ = ["forward", "prepare"]


def forward(w: dict[str, jax.Array], features: jax.Array) -> jax.Array:
    """Compute `logits`, shape (batch, 10), from `features`, shape (batch, 64)."""
    return logits(w, features, LAYERS)
