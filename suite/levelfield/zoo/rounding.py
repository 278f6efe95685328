"""Tensors rounded to a lower precision, in NumPy alone.

The error of a model whose weights were rounded, and which is computed in float64 otherwise, is a yardstick: a program
that really computes in that precision rounds the weights too, and activations besides, so that its error cannot be much
smaller; a program that computes in float32 stays thousands of times below.

For training every product is rounded (`lowered`). A mixed-precision program keeps weights, moments and loss in float32
and multiplies in bf16 or fp16: the operands of a product are rounded to that type, products are summed in float32, and
the result is rounded once more. Only the significand is shortened: what leaves fp16's range, which loss scaling is
there to prevent, does not show.

See Micikevicius et al., "Mixed Precision Training", arXiv:1710.03740.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

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

    In int8 each output channel has its own scale, and embeddings stay: they are looked up, not multiplied.
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


class Lowered(np.ndarray[Any, Any]):
    """A float64 array whose matrix products are rounded; what is computed of it is such an array too."""

    significand: int = 0
    """Bits that operands and results of products keep, the hidden one among them."""

    def __array_finalize__(self, origin: Any) -> None:  # noqa: ANN401  (an array, or None)
        self.significand = getattr(origin, "significand", self.significand)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:  # noqa: ANN401
        """Compute as NumPy does, and round around `matmul`, which is what `@` calls."""
        bits = max(each.significand for each in (*inputs, *options.get("out", ())) if isinstance(each, Lowered))
        given, product = [_plain(each) for each in inputs], ufunc is np.matmul
        if "out" in options:
            options["out"] = tuple(_plain(each) for each in options["out"])
        if product:
            given = [_rounded(each, bits) for each in given]
        found = getattr(ufunc, method)(*given, **options)
        if product:
            found = _rounded(found, bits)
        return lowered(found, bits) if isinstance(found, np.ndarray) else found


def lowered(array: npt.NDArray[Any], significand: int) -> Lowered:
    """Show an array as one whose products are rounded, without a copy.

    `array`: any shape.

    Examples
    --------
    >>> _plain(lowered(np.array([[1 + 2.0**-8]]), 8) @ np.array([[1.0]])).tolist()
    [[1.0]]
    """
    made = array.view(Lowered)
    made.significand = significand
    return made


def exact(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Show what was computed as a plain array."""
    return np.asarray(_plain(array))


def _rounded(array: npt.NDArray[Any], bits: int) -> npt.NDArray[np.float64]:
    return to_significand(array, bits).astype(np.float64)


def _plain(value: Any) -> Any:  # noqa: ANN401  (an array, or a number)
    return value.view(np.ndarray) if isinstance(value, Lowered) else value
