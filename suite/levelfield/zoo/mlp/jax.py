"""The MLPs in JAX."""

import jax

Tensors = dict[str, jax.Array]


def forward(w: Tensors, features: jax.Array) -> jax.Array:
    """Compute the probability, shape (batch, 1), or `logits`, shape (batch, classes), from `features`.

    `features`: float32, shape (batch, first width).
    """
    z = logits(w, features)
    return jax.nn.sigmoid(z) if z.shape[1] == 1 else z


def logits(w: Tensors, features: jax.Array) -> jax.Array:
    """Apply all layers, with ReLU between them."""
    x, layers = features, len(w) // 2
    for layer in range(layers - 1):
        x = jax.nn.relu(dense(w, layer, x))
    return dense(w, layers - 1, x)


def dense(w: Tensors, layer: int, x: jax.Array) -> jax.Array:
    """Apply a dense layer: (batch, in) → (batch, out). `layer`: number of the layer, from 0 on."""
    return x @ w[f"layers.{layer}.weight"] + w[f"layers.{layer}.bias"]


def loss(w: Tensors, statistics: Tensors, features: jax.Array, labels: jax.Array) -> tuple[jax.Array, Tensors]:
    """Compute cross-entropy from the logits, mean over the batch: binary of one logit, else over the classes.

    `labels`: classes, shape (batch,); 0 or 1 where the network gives one logit.
    """
    z = logits(w, features).astype(jax.numpy.float32)  # a loss is in float32, whatever the precision
    if z.shape[1] > 1:
        chosen = jax.numpy.take_along_axis(jax.nn.log_softmax(z), labels[:, None], axis=1)
        return -chosen.mean(), statistics
    z = z[:, 0]
    return (jax.nn.softplus(z) - labels * z).mean(), statistics
