"""How large a picture becomes; what decodes it is tested in its container."""

import pytest

from levelfield.worker import pictures


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [(500, 375, (341, 256)), (375, 500, (256, 341)), (256, 256, (256, 256)), (100, 33, (775, 256)), (1, 3, (256, 768))],
)
def test_the_longer_side_is_rounded_down_as_in_torchvision(width: int, height: int, expected: tuple[int, int]) -> None:
    assert pictures.resized(width, height, 256) == expected
