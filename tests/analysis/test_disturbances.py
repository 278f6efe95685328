import doctest

import pytest

from levelfield.analysis import disturbances


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(disturbances).failed == 0


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ([], ()),
        (["", ""], ()),
        (["swap", "swap"], ("swap (2 rounds)",)),
        (["steal 5 %", "steal 5 %"], ("steal 5 % (2 rounds)",)),
        (["steal 5 % of 2 CPUs", "steal 10.5 % of 2 CPUs"], ("steal 5–10.5 % of 2 CPUs (2 rounds)",)),
        (["a 1; b 2", "b 3"], ("a 1", "b 2–3 (2 rounds)")),
        (["10", "9"], ("9–10 (2 rounds)",)),
        (["\0", "\0 5", "\0 7\0"], ("\0", "\0 5", "\0 7\0")),
    ],
)
def test_reasons_that_differ_in_numbers_alone_are_reported_once(reasons: list[str], expected: tuple[str, ...]) -> None:
    assert disturbances.summarise(reasons) == expected
