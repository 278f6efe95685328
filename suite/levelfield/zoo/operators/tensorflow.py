"""Single operators in TensorFlow, by its public functions."""

import math
from functools import partial
from types import SimpleNamespace

import tensorflow as tf

from levelfield.zoo.operators import EPSILON
from levelfield.zoo.spec import Model, Operator

Variables = dict[str, tf.Variable]


def of(model: Model) -> SimpleNamespace:
    """Return the operator's definition: `forward(weights, *inputs)`."""
    return SimpleNamespace(forward=partial(forward, model.operator))


def forward(operator: Operator | None, w: Variables, *given: tf.Tensor) -> tf.Tensor:
    """Compute the output."""
    assert operator is not None
    x = given[0]
    match operator.kind:
        case "gemm":
            product = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), w["weight"])
            return tf.reshape(product, [*x.shape[:-1], product.shape[-1]])
        case "conv":
            pad = [operator.padding, operator.padding]
            return tf.nn.conv2d(x, w["weight"], operator.stride, [[0, 0], pad, pad, [0, 0]])
        case "softmax":
            return tf.nn.softmax(x)
        case "layernorm":
            mean, variance = tf.nn.moments(x, [-1], keepdims=True)
            return tf.nn.batch_normalization(x, mean, variance, w["bias"], w["weight"], EPSILON)
        case "embedding":
            return tf.nn.embedding_lookup(w["embeddings.weight"], x)
        case "gather":
            return tf.gather(x, given[1], batch_dims=1)
        case "scatter":
            pairs = zip(tf.unstack(x), tf.unstack(given[1]), strict=True)
            return tf.stack([tf.math.unsorted_segment_sum(each, rows, operator.rows) for each, rows in pairs])
        case _:
            return attention(operator.heads, *given)


def attention(heads: int, query: tf.Tensor, key: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    """Let every token look at all tokens."""
    batch, tokens, width = query.shape
    split = [batch, tokens, heads, width // heads]
    q, k, v = (tf.transpose(tf.reshape(each, split), [0, 2, 1, 3]) for each in (query, key, value))
    scores = tf.matmul(q, k, transpose_b=True) * (1 / math.sqrt(width // heads))
    return tf.reshape(tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3]), query.shape)
