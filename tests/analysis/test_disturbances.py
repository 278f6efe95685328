import doctest

from levelfield.analysis import disturbances


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(disturbances).failed == 0
