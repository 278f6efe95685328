"""The canary: two matrix products and a pass over memory, some milliseconds long, the same for ever.

A fixed NumPy workload: when its time moves, the machine moved.
"""

import math

from levelfield.zoo import bits
from levelfield.zoo.spec import Layer, Model, Parameter, Tensor
from levelfield.zoo.weights import Arrays

WIDTH = 512
MEMORY = 4 * 1024 * 1024
"""Floats swept in the memory pass: 16 MiB, larger than the second-level cache of a core."""

MODEL = Model(
    name="canary",
    title="Canary (NumPy)",
    inputs=(Tensor("signal", (WIDTH,), "float32"),),
    output=Tensor("echo", (WIDTH + 1,), "float32"),
    parameters=(
        Parameter("mix", (WIDTH, WIDTH), std=1 / math.sqrt(WIDTH)),
        Parameter("memory", (MEMORY,), mean=1.0, std=0.5),
    ),
    source="Levelfield's own",
    package="canary",
)


def seeded_input(name: str) -> Arrays:
    """Return the input of that name: `signal`, shape (512,), standard deviation one."""
    return {"signal": bits.scaled(name, (WIDTH,))}


def layers() -> tuple[Layer, ...]:
    """Return what it computes for one signal: two matrix products, and a pass over its memory."""
    square = WIDTH * WIDTH
    product = Layer(name="product", kind="dense", macs=WIDTH**3, weights=square, reads=square, writes=square)
    return (
        product,
        product,
        Layer(name="memory", kind="lookup", macs=0, weights=MEMORY, reads=0, writes=MEMORY),
    )
