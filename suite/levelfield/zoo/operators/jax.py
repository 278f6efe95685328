"""Single operators in JAX, by its public functions."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp

from levelfield.zoo.operators import EPSILON
from levelfield.zoo.spec import Model, Operator

Tensors = dict[str, jax.Array]


def of(model: Model) -> SimpleNamespace:
    """Return the operator's definition: `forward(weights, *inputs)`."""
    return SimpleNamespace(forward=partial(forward, model.operator))


def forward(operator: Operator | None, w: Tensors, *given: jax.Array) -> jax.Array:
    """Compute the output."""
    assert operator is not None
    x = given[0]
    match operator.kind:
        case "gemm":
            return x @ w["weight"]
        case "conv":
            pad = (operator.padding, operator.padding)
            layout = ("NHWC", "HWIO", "NHWC")
            strides = (operator.stride, operator.stride)
            return jax.lax.conv_general_dilated(x, w["weight"], strides, (pad, pad), dimension_numbers=layout)
        case "softmax":
            return jax.nn.softmax(x, axis=-1)
        case "layernorm":
            return jax.nn.standardize(x, axis=-1, epsilon=EPSILON) * w["weight"] + w["bias"]
        case "embedding":
            return jnp.take(w["embeddings.weight"], x, axis=0)
        case "gather":
            return jax.vmap(lambda each, rows: jnp.take(each, rows, axis=0))(x, given[1])
        case "scatter":
            zeros = jnp.zeros((operator.rows, x.shape[-1]), x.dtype)
            return jax.vmap(lambda each, rows: zeros.at[rows].add(each))(x, given[1])
        case _:
            batch, tokens, width = x.shape
            split = (batch, tokens, operator.heads, width // operator.heads)
            return jax.nn.dot_product_attention(*(each.reshape(split) for each in given)).reshape(x.shape)
