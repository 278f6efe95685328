"""ResNet-50's layers, in the order data flows."""

from suite.zoo.layers import Layer, dense
from suite.zoo.resnet50.spec import CLASSES, EXPANSION, STAGES, Conv, convolutions


def layers() -> tuple[Layer, ...]:
    """Return its 53 convolutions, each with the BatchNorm after it, and the classifier."""
    return (*map(_convolution, convolutions()), dense("fc", 1, EXPANSION * STAGES[-1][0], CLASSES))


def _convolution(conv: Conv) -> Layer:
    channels_in, channels_out = conv.fan
    size_in = conv.size_out * conv.stride
    stride = f", stride {conv.stride}" if conv.stride > 1 else ""
    return Layer(
        name=conv.name,
        kind=f"convolution {conv.kernel}×{conv.kernel}{stride}",
        macs=conv.macs,
        # BatchNorm folds into the kernel and one bias a channel, as every inference engine does it.
        weights=channels_in * channels_out * conv.kernel**2 + channels_out,
        reads=size_in**2 * channels_in,
        writes=conv.size_out**2 * channels_out,
    )
