"""The reference with every product in a lower precision: what rounding alone makes of a training.

A mixed-precision program keeps its weights, its moments and its loss in float32 and multiplies in bf16 or fp16: the
operands of a product are rounded to that type, products are summed in float32, and the result is rounded once more.
Here that is done to every matrix product of a model's definition, forward and back (its convolutions are such products
too), with all else in float64. No framework is involved.

Only the significand is shortened. The exponent keeps its range, so that what leaves fp16's range, which loss scaling is
there to prevent, does not show.

References
----------
Micikevicius et al., "Mixed Precision Training", arXiv:1710.03740.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.zoo import rounding


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
        return of(found, bits) if isinstance(found, np.ndarray) else found


def of(array: npt.NDArray[Any], significand: int) -> Lowered:
    """Show an array as one whose products are rounded, without a copy.

    `array`: any shape.

    Examples
    --------
    >>> _plain(of(np.array([[1 + 2.0**-8]]), 8) @ np.array([[1.0]])).tolist()
    [[1.0]]
    """
    made = array.view(Lowered)
    made.significand = significand
    return made


def exact(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Show what was computed as a plain array."""
    return np.asarray(_plain(array))


def _rounded(array: npt.NDArray[Any], bits: int) -> npt.NDArray[np.float64]:
    return rounding.to_significand(array, bits).astype(np.float64)


def _plain(value: Any) -> Any:  # noqa: ANN401  (an array, or a number)
    return value.view(np.ndarray) if isinstance(value, Lowered) else value
