"""From an image of any size to a small square: the same integers on every machine.

The middle square is kept (of an odd rest, the smaller half is cut at the top and at the left). Each small pixel is then
the mean of the area that it covers, as with a box filter: with side *s* and *n* small pixels, small pixel *i* covers
[i·s, (i+1)·s) where pixel *j* covers [j·n, (j+1)·n), and their overlap is an integer weight. The sum over both
directions is a whole number below 2⁵³, divided by s², rounded to the nearest, halves up.
"""

import numpy as np
import numpy.typing as npt

MAX_SIDE = 16_384
"""Pixels: 255 · s² stays far below 2⁵³."""

Pixels = npt.NDArray[np.uint8]


def square(image: Pixels, side: int) -> Pixels:
    """Make an image small.

    Parameters
    ----------
    image
        Shape (height, width, channels).
    side
        Of the result, pixels.

    Returns
    -------
    Pixels
        Shape (channels, side, side).
    """
    height, width = image.shape[:2]
    length = min(height, width)
    top, left = (height - length) // 2, (width - length) // 2
    square = image[top : top + length, left : left + length]
    weights = _overlaps(length, side)
    # Products and sums of whole numbers below 2⁵³ are exact in float64, in whatever order they are added.
    rows = np.tensordot(weights, square.astype(np.float64), axes=(1, 0))
    sums = np.tensordot(weights, rows, axes=(1, 1)).astype(np.int64)  # (width, height, channels)
    area = length * length
    means: Pixels = ((2 * sums + area) // (2 * area)).astype(np.uint8)
    return means.transpose(2, 1, 0)


def _overlaps(length: int, side: int) -> npt.NDArray[np.float64]:
    """Return how far each small pixel and each pixel overlap, shape (side, length); each row's sum is `length`."""
    small, large = np.arange(side)[:, None], np.arange(length)[None, :]
    ends = np.minimum((small + 1) * length, (large + 1) * side)
    begins = np.maximum(small * length, large * side)
    overlaps: npt.NDArray[np.float64] = np.maximum(ends - begins, 0).astype(np.float64)
    return overlaps
