"""The canary: two matrix products and a pass over memory, some milliseconds long, the same for ever."""

import math

from suite.zoo.spec import Model, Parameter, Tensor

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
