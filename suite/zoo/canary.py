"""The canary: two matrix products and a pass over memory, some milliseconds long, the same for ever.

A fixed NumPy workload: when its time moves, the machine moved.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.zoo import bits
from suite.zoo.spec import Layer, Model, Parameter, Tensor
from suite.zoo.weights import Arrays

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
)


def one(name: str) -> Arrays:
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


def forward(weights: Mapping[str, npt.NDArray[Any]], inputs: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Compute `echo`, shape (batch, 513), from `signal`, shape (batch, 512), in float64.

    The first 512 numbers are the signal's way through two matrix products; the last is the mean of the memory, scaled
    by the signal's first element.
    """
    mix, memory = weights["mix"].astype(np.float64), weights["memory"].astype(np.float64)
    echoes = []
    for signal in inputs["signal"].astype(np.float64):
        mixed = (signal[:, None] * mix) @ mix @ mix
        echoes.append(np.append(mixed.sum(axis=0), (memory * signal[0]).mean()))
    return np.stack(echoes)
