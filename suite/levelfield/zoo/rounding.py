"""Tensors rounded to a lower precision, in NumPy alone: what rounding the weights by itself makes of an answer.

The error of a model whose weights were rounded, and which is computed in float64 otherwise, is a yardstick: a program
that really computes in that precision rounds the weights too, and activations besides, so that its error cannot be much
smaller; a program that computes in float32 stays thousands of times below.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from levelfield.zoo.spec import is_table
from levelfield.zoo.weights import Arrays

SIGNIFICANDS: Mapping[str, int] = MappingProxyType({"tf32": 11, "bf16": 8, "fp16": 11})
"""Bits of the significand, the hidden one among them; float32 has 24."""
INT8_STEPS = 127
"""Of a symmetric 8-bit range, to one side."""
_FLOAT32_BITS = 24


def weights(arrays: Mapping[str, npt.NDArray[np.generic]], precision: str) -> Arrays:
    """Round the matrices and kernels among a model's weights; vectors stay.

    In int8 each output channel has its own scale, as quantisers of weights choose it, and embeddings stay: they are
    looked up, not multiplied.

    Raises ValueError: if weights are not rounded in that precision.
    """
    if precision == "int8":
        return {
            name: to_int8(array) if array.ndim > 1 and not is_table(name) else array for name, array in arrays.items()
        }
    if precision not in SIGNIFICANDS:
        raise ValueError(f"Nothing is rounded in {precision}; there are {', '.join((*SIGNIFICANDS, 'int8'))}.")
    bits = SIGNIFICANDS[precision]
    return {name: to_significand(array, bits) if array.ndim > 1 else array for name, array in arrays.items()}


def to_significand(array: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.float32]:
    """Round float32 values to so many bits of significand, to the nearest and to even; the exponent keeps its range.

    `array`: Float32 values, any shape.

    Examples
    --------
    >>> to_significand(np.float32([1 + 2**-8, 1 + 3 * 2**-8]), 8).tolist()
    [1.0, 1.015625]
    """
    drop = _FLOAT32_BITS - bits
    raw = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    half, odd = np.uint32((1 << (drop - 1)) - 1), (raw >> np.uint32(drop)) & np.uint32(1)
    kept = np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
    return ((raw + half + odd) & kept).view(np.float32)


def to_int8(array: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
    """Round to 8 bits, symmetric, with one scale for each index of the first axis."""
    values = np.asarray(array, dtype=np.float32)
    largest = np.abs(values).max(axis=tuple(range(1, values.ndim)), keepdims=True)
    scale = np.where(largest == 0, np.float32(1), largest / np.float32(INT8_STEPS))
    rounded: npt.NDArray[np.float32] = (np.rint(values / scale) * scale).astype(np.float32)
    return rounded
