"""The page of the trial says what its newest record says, or that there is none."""

from tests.figures.pages import text_of
from tests.figures.peers import ABSENT, LATEST, PAGE, figure


def test_the_page_says_whether_there_is_a_record() -> None:
    assert (ABSENT in " ".join(text_of(PAGE).split())) is (LATEST is None)


def test_a_line_of_the_tables_is_bound_number_by_number() -> None:
    bound = figure("| pyperf | 1.02 (0.99 … 1.05) | 8 |")
    assert bound.template == "| pyperf | {}.{} ({}.{} … {}.{}) | {} |"
    assert list(bound.values()) == ["1", "02", "0", "99", "1", "05", "8"]
