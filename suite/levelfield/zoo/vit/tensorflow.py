"""ViT-B/16 in TensorFlow. Tensors are (batch, token, hidden)."""

import math

import tensorflow as tf

from levelfield.zoo.bert.tensorflow import dense, heads, norm
from levelfield.zoo.vit import BASE, Sizes

Variables = dict[str, tf.Variable]


def forward(w: Variables, images: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Compute `logits`, shape (batch, 1000), from `images`, float32, shape (batch, 224, 224, 3)."""
    x = embed(w, images, sizes=sizes)
    for number in range(sizes.layers):
        x = layer(w, f"encoder.layer.{number}", x, sizes=sizes)
    return dense(w, "classifier", norm(w, "layernorm", x, sizes.epsilon)[:, 0])


def embed(w: Variables, images: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Project each patch, put the class token before them, and add the embeddings of position."""
    name = "embeddings.patch_embeddings.projection"
    projected = tf.nn.bias_add(tf.nn.conv2d(images, w[f"{name}.weight"], sizes.patch, "VALID"), w[f"{name}.bias"])
    patches = tf.reshape(projected, [-1, sizes.grid**2, sizes.hidden])
    first = tf.broadcast_to(w["embeddings.cls_token"], [images.shape[0], 1, sizes.hidden])
    return tf.concat([first, patches], axis=1) + w["embeddings.position_embeddings"]


def layer(w: Variables, name: str, x: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Apply attention and the two-layer network, each to its normalised input, and add that input (pre-norm).

    `x`: hidden state, shape (batch, 197, 768).
    """
    normal = norm(w, f"{name}.layernorm_before", x, sizes.epsilon)
    attended = attention(w, f"{name}.attention.attention", normal, sizes=sizes)
    x = x + dense(w, f"{name}.attention.output.dense", attended)
    inner = dense(w, f"{name}.intermediate.dense", norm(w, f"{name}.layernorm_after", x, sizes.epsilon))
    return x + dense(w, f"{name}.output.dense", tf.nn.gelu(inner, approximate=False))


def attention(w: Variables, name: str, x: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Let every token look at all tokens."""
    query, key, value = (heads(dense(w, f"{name}.{part}", x), sizes.heads) for part in ("query", "key", "value"))
    scores = tf.matmul(query, key, transpose_b=True) * (1 / math.sqrt(sizes.head))  # (batch, heads, from, to)
    context = tf.matmul(tf.nn.softmax(scores), value)
    return tf.reshape(tf.transpose(context, [0, 2, 1, 3]), x.shape)
