"""Feature vectors along a common direction, more or less, with noise: the two classes of a classifier and between."""

import numpy as np

from suite.zoo import bits
from suite.zoo.mlp.spec import WIDTHS
from suite.zoo.weights import SEED, Arrays


def one(name: str) -> Arrays:
    """Return the input of that name: `features`, shape (200,), standard deviation near one."""
    direction = bits.symmetric(f"{SEED}/mlp/direction", (WIDTHS[0],))
    values = bits.symmetric(name, (WIDTHS[0] + 1,))
    # How far along the direction: −2 … 2. Products and sums are single IEEE operations, each rounded once.
    strength = values[0] * np.float32(2)
    return {"features": values[1:] + strength * direction}
