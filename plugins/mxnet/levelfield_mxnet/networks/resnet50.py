"""The ResNets in MXNet. Tensors are (batch, channels, height, width)."""

from mxnet import sym

from levelfield.zoo.resnet50 import EPSILON, EXPANSION, Sizes, sizes_of
from levelfield.zoo.spec import Model
from levelfield_mxnet.networks import Symbol, Weights
from levelfield_mxnet.networks.mlp import dense


def forward(model: Model, w: Weights, images: Symbol) -> Symbol:
    """Compute `logits`, shape (batch, classes), from `images`, shape (batch, channels, height, width).

    `images`: float32, shape (batch, channels, height, width).
    """
    sizes = model.sizes if isinstance(model.sizes, Sizes) else sizes_of(w)
    x = conv(w, "conv1", images, sizes.stem, kernel=sizes.kernel, stride=sizes.stride)
    x = relu(norm(w, "bn1", x))
    if sizes.pooled:
        x = sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    for number, (width, _) in enumerate(sizes.stages):
        for block, stride in sizes.blocks(number):
            x = bottleneck(w, block, x, width, stride)
    x = sym.flatten(sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"))
    return dense(w, "fc", x, model.output.shape[0])


def bottleneck(w: Weights, name: str, x: Symbol, width: int, stride: int) -> Symbol:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    out, shortcut = EXPANSION * width, x
    if f"{name}.downsample.0.weight" in w:
        shortcut = norm(w, f"{name}.downsample.1", conv(w, f"{name}.downsample.0", x, out, stride=stride))
    x = relu(norm(w, f"{name}.bn1", conv(w, f"{name}.conv1", x, width)))
    x = relu(norm(w, f"{name}.bn2", conv(w, f"{name}.conv2", x, width, kernel=3, stride=stride)))
    x = norm(w, f"{name}.bn3", conv(w, f"{name}.conv3", x, out))
    return relu(x + shortcut)


def conv(w: Weights, name: str, x: Symbol, channels: int, *, kernel: int = 1, stride: int = 1) -> Symbol:
    """Convolve without bias, padded by half the kernel."""
    return sym.Convolution(
        x,
        w[f"{name}.weight"],
        num_filter=channels,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(kernel // 2, kernel // 2),
        no_bias=True,
    )


def norm(w: Weights, name: str, x: Symbol) -> Symbol:
    """Apply BatchNorm with its stored statistics."""
    parts = [w[f"{name}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")]
    # MXNet's default takes 1 for every weight.
    return sym.BatchNorm(x, *parts, eps=EPSILON, fix_gamma=False, use_global_stats=True)


def relu(x: Symbol) -> Symbol:
    """Return max(x, 0)."""
    return sym.Activation(x, act_type="relu")
