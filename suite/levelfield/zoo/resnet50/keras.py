"""The ResNets in Keras 3, on any of its engines, padded as `keras.applications.resnet` pads."""

from typing import Any

import keras

from levelfield.zoo.native import fill
from levelfield.zoo.resnet50 import EPSILON, sizes_of
from levelfield.zoo.training.recipe import BATCH_NORM
from levelfield.zoo.weights import Arrays


def build(w: Arrays) -> keras.Model:
    """Return the network with its weights: from `images`, (height, width, channels), to `logits`."""
    sizes = sizes_of(w)
    images = keras.Input((None, None, w["conv1.weight"].shape[2]), dtype="float32", name="images")
    x = keras.layers.ReLU()(norm(w, "bn1", conv(w, "conv1", images, sizes.stride)))
    if sizes.pooled:
        x = keras.layers.MaxPooling2D(3, strides=2)(keras.layers.ZeroPadding2D(1)(x))
    for block, stride in sizes.all_blocks():
        x = bottleneck(w, block, x, stride)
    layer = keras.layers.Dense(len(w["fc.bias"]))
    logits = layer(keras.layers.GlobalAveragePooling2D()(x))
    fill(layer, w, "fc.weight", "fc.bias")
    return keras.Model(images, logits)


def trainable(w: Arrays) -> tuple[keras.Model, keras.Model, Any]:
    """Return the network that is trained, the one that answers with the same variables, and the loss."""
    network = build(w)
    return network, network, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class BatchNorm(keras.layers.BatchNormalization):  # type: ignore[misc,unused-ignore]
    """Keras's layer, whose moving variance follows the unbiased variance of a batch, as the recipe has it.

    Keras follows the biased one, and no argument changes that; what is normalised by is the same.
    """

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:  # noqa: ANN401
        """Normalise, and in training correct what the moving variance was given."""
        if not training:
            return super().call(inputs, training=training, mask=mask)
        kept = keras.ops.convert_to_tensor(self.moving_variance) * self.momentum
        normal = super().call(inputs, training=training, mask=mask)
        batch, height, width, _ = keras.ops.shape(inputs)
        others = keras.ops.cast(batch * height * width - 1, "float32")
        self.moving_variance.assign_add((self.moving_variance - kept) / others)
        return normal


def bottleneck(w: Arrays, name: str, x: Any, stride: int) -> Any:  # noqa: ANN401  (Keras's symbolic tensors)
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in w:
        shortcut = norm(w, f"{name}.downsample.1", conv(w, f"{name}.downsample.0", x, stride))
    x = keras.layers.ReLU()(norm(w, f"{name}.bn1", conv(w, f"{name}.conv1", x)))
    x = keras.layers.ReLU()(norm(w, f"{name}.bn2", conv(w, f"{name}.conv2", x, stride)))
    x = norm(w, f"{name}.bn3", conv(w, f"{name}.conv3", x))
    return keras.layers.ReLU()(keras.layers.Add()([shortcut, x]))


def conv(w: Arrays, name: str, x: Any, stride: int = 1) -> Any:  # noqa: ANN401
    """Convolve; half the kernel is padded on every side ("same" would pad a stride of 2 differently)."""
    kernel = w[f"{name}.weight"]
    size = kernel.shape[0]
    if size > 1 and stride > 1:
        x = keras.layers.ZeroPadding2D(size // 2)(x)
    padding = "same" if stride == 1 else "valid"
    layer = keras.layers.Conv2D(kernel.shape[3], size, strides=stride, padding=padding, use_bias=False)
    convolved = layer(x)
    fill(layer, w, f"{name}.weight")
    return convolved


def norm(w: Arrays, name: str, x: Any) -> Any:  # noqa: ANN401
    """Apply BatchNorm, in inference with its stored statistics."""
    layer = BatchNorm(epsilon=EPSILON, momentum=1 - BATCH_NORM.update)
    normal = layer(x)
    fill(layer, w, *(f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var")))
    return normal
