"""What `pyperf compare_to` prints; `test_command.py` lets it decide for real."""

import pytest

from studies.peers.decisions import NOT_SIGNIFICANT, answer_of_compare_to
from suite.errors import LevelfieldError


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ("Benchmark hidden because not significant (1): bert\n", NOT_SIGNIFICANT),
        ("Mean +- std dev: [first] 80.1 ms +- 0.9 ms -> [again] 84.2 ms +- 1.2 ms: 1.05x slower\n", "slower"),
        ("Mean +- std dev: [first] 84.1 ms +- 0.9 ms -> [again] 80.2 ms +- 1.2 ms: 1.05x faster\n", "faster"),
    ],
)
def test_its_words_are_understood(output: str, answer: str) -> None:
    assert answer_of_compare_to(output) == answer


def test_other_words_are_an_error() -> None:
    with pytest.raises(LevelfieldError, match="gave no answer"):
        answer_of_compare_to("usage: pyperf")
