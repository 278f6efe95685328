"""Images with a colour of their own, large smooth blobs and smaller ones, as photographs have.

Random networks forget most of an image but its colours: those make the answers differ by a quarter of their size.
Grids of random 8-bit values are interpolated bilinearly at a power-of-two spacing, all in integers, and scaled once by
a power of two: exact, so the same bits everywhere.
"""

import math

import numpy as np
import numpy.typing as npt

from suite.zoo import bits
from suite.zoo.resnet50.spec import SIZE
from suite.zoo.weights import Arrays

COARSE = 32
"""Pixels between the control points of the large blobs."""
FINE = 8
"""The same for the small ones."""


def one(name: str) -> Arrays:
    """Return the input of that name: `images`, shape (3, 224, 224), values in (−3.5, 3.5), with deviation near one."""
    colour = _eights(f"{name}/colour", (3, 1, 1)) * COARSE**2
    coarse = _blobs(f"{name}/coarse", COARSE)
    fine = _blobs(f"{name}/fine", FINE) * (COARSE // FINE) ** 2
    # At most 7 · 255 · 32² in size: the sum fits the 24 bits of a float32's significand.
    return {"images": (4 * colour + 2 * coarse + fine).astype(np.float32) * np.float32(2.0**-9 / COARSE**2)}


def _eights(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return random 8-bit values, symmetric about zero: the odd numbers from −255 to 255, in units of 2⁻⁸."""
    return 2 * bits.integers(name, math.prod(shape), bits=8).reshape(shape) - 255


def _blobs(name: str, spacing: int) -> npt.NDArray[np.int64]:
    """Return a (3, 224, 224) pattern in units of 2⁻⁸ / spacing², between −1 and 1."""
    points = SIZE // spacing + 1
    return _stretch(_stretch(_eights(name, (3, points, points)), spacing, axis=1), spacing, axis=2)


def _stretch(grid: npt.NDArray[np.int64], spacing: int, axis: int) -> npt.NDArray[np.int64]:
    """Interpolate linearly along one axis; the result is `spacing` times too large, so that it stays whole."""
    pixel = np.arange(SIZE)
    left, offset = pixel // spacing, pixel % spacing
    shape = [SIZE if dimension == axis else 1 for dimension in range(grid.ndim)]
    offset = offset.reshape(shape)
    return np.take(grid, left, axis) * (spacing - offset) + np.take(grid, left + 1, axis) * offset
