"""Every number in README.md and docs/ is computed again from what it rests on, or is named as a constant."""

import random
from collections.abc import Iterator

import pytest

from tests.figures import forms, spin
from tests.figures.all import FIGURES, passages
from tests.figures.checking import Figure, Passage, check, corrected, filled, problems, unheld
from tests.figures.pages import PAGES, Number, numbers, text_of, visible


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_is_what_it_rests_on(page: str) -> None:
    assert not check(page, passages())


def test_the_defaults_are_what_the_rule_makes_of_the_timings() -> None:
    forms.check_rule()


def test_no_arm_computes_in_the_first_call_of_the_next() -> None:
    spin.check_until_still()


def test_no_binding_holds_a_number_of_its_own() -> None:
    assert not list(unheld(FIGURES))


def test_there_are_figures_to_look_at() -> None:
    assert len(FIGURES) > 80
    assert sum(len(numbers(text_of(page))) for page in PAGES) > 400


def _altered(text: str, number: Number, chance: random.Random) -> str:
    """Change one digit of a number, or the whole word."""
    digits = [place for place in range(number.start, number.end) if text[place].isdigit()]
    if not digits:
        return f"{text[: number.start]}nineteen{text[number.end :]}"
    place = chance.choice(digits)
    other = chance.choice([digit for digit in "0123456789" if digit != text[place]])
    return f"{text[:place]}{other}{text[place + 1 :]}"


@pytest.mark.parametrize("page", [page for page in PAGES if numbers(text_of(page))])
def test_one_altered_digit_is_found(page: str) -> None:
    """Each number of every page in turn, one digit of it chosen by chance."""
    chance = random.Random(page)
    text = text_of(page)
    of_page = [passage for passage in passages() if passage.page == page]
    unseen = [
        f"{page}:{number.line}: {number.text}"
        for number in numbers(text)
        if not any(problems(page, _altered(text, number, chance), of_page))
    ]
    assert not unseen


def test_a_new_figure_is_found() -> None:
    text = text_of("README.md") + "\nIt is 17 % faster, in ten minutes.\n"
    found = list(problems("README.md", text, passages()))
    assert len(found) == 2
    assert "“17”" in found[0]
    assert "“ten”" in found[1]


FACTS = [Figure("README.md", "found in {} ({} %), at {} %", lambda: ("19 of 21", "69.6–98.8", 95))]


def made() -> tuple[Passage, ...]:
    return tuple(filled(each) for each in FACTS)


def test_a_passage_is_found_across_lines_and_quotations() -> None:
    for text in ("found in 19 of\n21 (69.6–98.8 %),\nat 95 %", "> found in 19 of 21\n> (69.6–98.8\u00a0%), at 95 %"):
        assert not list(problems("README.md", text, made()))


def test_a_wrong_value_is_shown_beside_the_right_one() -> None:
    wrong, *rest = problems("README.md", "It was found in 18 of 21 (69.6–98.8 %), at 95 %.", made())
    assert wrong.startswith("README.md:1 says “found in 18 of 21")
    assert "says “found in 19 of 21" in wrong
    assert len(rest) == 5  # nothing holds the passage's numbers now


def test_a_passage_that_was_reworded_asks_for_its_binding() -> None:
    (said,) = problems("README.md", "It was found nearly always.", made())
    assert "mend or remove its binding" in said


def test_the_right_value_can_be_written() -> None:
    text = "It was found in 18 of\n22 (1–2 %), at 90 %."
    assert corrected("README.md", text, made()) == "It was found in 19 of 21 (69.6–98.8 %), at 95 %."


def test_a_binding_with_a_number_of_its_own_is_named() -> None:
    (said,) = unheld([Figure("README.md", "within 2 % in {}", lambda: ("3 of 4",))])
    assert "holds 2 itself" in said


def test_a_binding_has_as_many_values_as_places() -> None:
    with pytest.raises(ValueError, match="has 2 places for 1 values"):
        filled(Figure("README.md", "{} of {}", lambda: (1,)))


def _seen(text: str) -> Iterator[str]:
    return (number.text for number in numbers(text))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("ResNet-50 in float32 took 39.2 ms (36.7–41.8).", ["39.2", "36.7", "41.8"]),
        ("1 020 launches in forty minutes, 60,000 images, −0.3 to 1e-5", ["1 020", "forty", "60,000", "0.3", "1e-5"]),
        ("Python 3.11 to\n3.13, CUDA 12.8.1, 2026-11-22, (Hsu 1984), p90, x86-64, cu12", []),
        ("`-n 2` and [record 5](reports/trials/rigor-1.md)", ["5"]),
        ("    make bench ARGS=7   # three minutes", ["three"]),
        ("1. One file\n2. Another", []),
        ("a shared 2-core machine, 64-128 wide", ["2", "64", "128"]),
    ],
)
def test_numbers_are_what_a_reader_takes_for_figures(text: str, seen: list[str]) -> None:
    assert list(_seen(text)) == seen


def test_blanking_moves_nothing() -> None:
    for page in PAGES:
        assert len(visible(text_of(page))) == len(text_of(page))
