"""What can be asked for by name."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.plan.names import CANARY, EXPORTER, all_images, known, names_of_backends, names_of_models


def test_the_canary_is_an_image_and_nobodys_wish() -> None:
    assert CANARY not in names_of_models()
    assert CANARY not in names_of_backends()
    assert all_images()[-2:] == (EXPORTER, CANARY)
    assert len(set(all_images())) == len(all_images())


def test_names_stand_once_and_strangers_are_refused() -> None:
    assert known("model", ("b", "a", "b"), ("a", "b", "c")) == ("b", "a")
    with pytest.raises(LevelfieldError, match="There is no model called 'd'"):
        known("model", ("a", "d"), ("a", "b"))
