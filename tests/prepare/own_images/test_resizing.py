"""Images are made small by integers alone: held against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.prepare.own_images.resizing import square


def exactly(image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], side: int) -> list[list[int]]:
    """The mean over the area that each small pixel covers, in fractions; halves up."""
    whole = min(image.shape)
    top, left = (image.shape[0] - whole) // 2, (image.shape[1] - whole) // 2
    step = Fraction(whole, side)

    def overlap(small: int, large: int) -> Fraction:
        return max(Fraction(0), min((small + 1) * step, Fraction(large + 1)) - max(small * step, Fraction(large)))

    def pixel(row: int, column: int) -> int:
        area = sum(
            overlap(row, y) * overlap(column, x) * int(image[top + y, left + x])
            for y in range(whole)
            for x in range(whole)
        )
        return int(area / step**2 + Fraction(1, 2))

    return [[pixel(row, column) for column in range(side)] for row in range(side)]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_each_pixel_is_the_mean_of_what_it_covers(height: int, width: int, side: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    assert square(image[:, :, None], side)[0].tolist() == exactly(image, side)


def test_colours_stay_apart_and_the_middle_is_kept() -> None:
    image = np.zeros((4, 9, 3), np.uint8)
    image[:, 2:6] = (10, 20, 30)
    small = square(image, 2)
    assert small.shape == (3, 2, 2)
    assert [channel.tolist() for channel in small] == [[[value] * 2] * 2 for value in (10, 20, 30)]


@pytest.mark.parametrize("value", [0, 1, 127, 255])
def test_a_flat_image_stays_what_it_is(value: int) -> None:
    assert (square(np.full((301, 433, 3), value, np.uint8), 16) == value).all()


def test_an_image_of_the_size_is_not_touched() -> None:
    image = np.random.default_rng(1).integers(0, 256, (16, 16, 3)).astype(np.uint8)
    assert np.array_equal(square(image, 16), image.transpose(2, 0, 1))
