"""BERT-base in TensorFlow. Tensors are (batch, sequence, hidden)."""

import math

import tensorflow as tf

from levelfield.zoo.bert import BASE, EPSILON, HEADS, Sizes

Variables = dict[str, tf.Variable]


def forward(
    w: Variables,
    input_ids: tf.Tensor,
    token_type_ids: tf.Tensor,
    attention_mask: tf.Tensor,
    *,
    sizes: Sizes = BASE,
) -> tf.Tensor:
    """Compute `last_hidden_state`, shape (batch, 128, 768), from three int32 inputs of shape (batch, 128).

    `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, 128).
    """
    words = tf.gather(w["embeddings.word_embeddings.weight"], input_ids)
    positions = w["embeddings.position_embeddings.weight"][: input_ids.shape[1]]
    types = tf.gather(w["embeddings.token_type_embeddings.weight"], token_type_ids)
    x = norm(w, "embeddings.LayerNorm", words + positions + types, sizes.epsilon)
    mask = tf.cast(tf.where(attention_mask[:, None, None, :] != 0, 0.0, -math.inf), x.dtype)
    for number in range(sizes.layers):
        x = layer(w, f"encoder.layer.{number}", x, mask, sizes=sizes)
    return x


def layer(w: Variables, name: str, x: tf.Tensor, mask: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm)."""
    context = attention(w, f"{name}.attention.self", x, mask, sizes=sizes)
    attended = dense(w, f"{name}.attention.output.dense", context)
    x = norm(w, f"{name}.attention.output.LayerNorm", x + attended, sizes.epsilon)
    inner = tf.nn.gelu(dense(w, f"{name}.intermediate.dense", x), approximate=False)
    return norm(w, f"{name}.output.LayerNorm", x + dense(w, f"{name}.output.dense", inner), sizes.epsilon)


def attention(w: Variables, name: str, x: tf.Tensor, mask: tf.Tensor, *, sizes: Sizes = BASE) -> tf.Tensor:
    """Let every token look at the tokens that are not padding."""
    query, key, value = (heads(dense(w, f"{name}.{part}", x), sizes.heads) for part in ("query", "key", "value"))
    scores = tf.matmul(query, key, transpose_b=True) * (1 / math.sqrt(sizes.head))  # (batch, heads, from, to)
    context = tf.matmul(tf.nn.softmax(scores + mask), value)
    return tf.reshape(tf.transpose(context, [0, 2, 1, 3]), x.shape)


def heads(x: tf.Tensor, count: int = HEADS) -> tf.Tensor:
    """Split (batch, sequence, hidden) into (batch, heads, sequence, head)."""
    return tf.transpose(tf.reshape(x, [*x.shape[:2], count, x.shape[2] // count]), [0, 2, 1, 3])


def dense(w: Variables, name: str, x: tf.Tensor) -> tf.Tensor:
    """Apply a dense layer to the last axis, as one product of two matrices."""
    flat = tf.reshape(x, [-1, x.shape[-1]])
    out = tf.nn.bias_add(tf.matmul(flat, w[f"{name}.weight"]), w[f"{name}.bias"])
    return tf.reshape(out, [*x.shape[:-1], out.shape[-1]])


def norm(w: Variables, name: str, x: tf.Tensor, epsilon: float = EPSILON) -> tf.Tensor:
    """Apply LayerNorm over the last axis (768), in float32, whatever the precision, as Keras has it."""
    wide = tf.cast(x, tf.float32)
    mean, variance = tf.nn.moments(wide, [-1], keepdims=True)
    bias, weight = (tf.cast(w[f"{name}.{part}"], tf.float32) for part in ("bias", "weight"))
    return tf.cast(tf.nn.batch_normalization(wide, mean, variance, bias, weight, epsilon), x.dtype)


def loss(
    w: Variables,
    statistics: Variables,
    input_ids: tf.Tensor,
    token_type_ids: tf.Tensor,
    attention_mask: tf.Tensor,
    positions: tf.Tensor,
    labels: tf.Tensor,
) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Compute cross-entropy over the vocabulary, mean over the masked words; the head is the table of embeddings."""
    del statistics  # there are none
    hidden = forward(w, input_ids, token_type_ids, attention_mask)
    masked = tf.reshape(tf.gather(hidden, positions, batch_dims=1), [-1, hidden.shape[-1]])
    logits = tf.matmul(masked, w["embeddings.word_embeddings.weight"], transpose_b=True)
    logits = tf.cast(logits, tf.float32)  # a loss is in float32, whatever the precision
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(labels, [-1]), logits=logits)
    return tf.reduce_mean(each), {}
