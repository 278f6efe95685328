"""One dense layer in JAX."""

import jax


def forward(w: dict[str, jax.Array], features: jax.Array) -> jax.Array:
    """Compute `scores`, shape (batch, 10), from `features`, shape (batch, 64); matrices are (in, out)."""
    return features @ w["weight"] + w["bias"]
