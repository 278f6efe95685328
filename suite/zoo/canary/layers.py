"""The canary's layers: two matrix products, and a pass over its memory."""

from suite.zoo.canary.spec import MEMORY, WIDTH
from suite.zoo.layers import Layer


def layers() -> tuple[Layer, ...]:
    """Return what it computes for one signal."""
    square = WIDTH * WIDTH
    product = Layer(name="product", kind="dense", macs=WIDTH**3, weights=square, reads=square, writes=square)
    return (
        product,
        product,
        Layer(name="memory", kind="lookup", macs=0, weights=MEMORY, reads=0, writes=MEMORY),
    )
