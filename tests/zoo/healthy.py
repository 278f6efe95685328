"""Whether activations are of a size that numbers of 32 bits hold well."""

import numpy as np

TINY = np.finfo(np.float32).tiny


def healthy(x: np.ndarray, low: float, high: float) -> None:
    assert np.isfinite(x).all()
    assert low < x.std() < high
    size = np.abs(x[x != 0])
    assert size.min() > TINY  # nothing a processor would call denormal
