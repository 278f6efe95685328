"""Figures are held against what they are computed from; numbers that nothing holds are named."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.figures.pages import numbers, text_of

CONSTANTS = Path(__file__).with_name("constants.toml")
_LONGEST = 60
"""Characters that a wrong value may have in a page and still be shown."""


@dataclass(frozen=True)
class Figure:
    """A passage of a page whose numbers are computed from a committed record, or are constants of the code.

    Examples
    --------
    ``Figure("README.md", "found in {} of {}", lambda: (19, 21))`` asks the README to say *found in 19 of 21*.
    """

    page: str
    template: str
    """The passage, with ``{}`` for each value. It holds no number of its own; line breaks are spaces."""
    values: Callable[[], Sequence[object]]
    """The values as they are to be printed."""


@dataclass(frozen=True)
class Passage:
    """A passage with its values filled in."""

    page: str
    text: str
    pattern: re.Pattern[str]
    likely: re.Pattern[str] | None = None
    """The same with any values; None: a constant, which has none."""
    kind: str = ""
    """Of a constant."""


def filled(figure: Figure) -> Passage:
    """Compute a figure's values."""
    parts = figure.template.split("{}")
    values = [str(value) for value in figure.values()]
    if len(values) != len(parts) - 1:
        raise ValueError(f"{figure.template!r} has {len(parts) - 1} places for {len(values)} values.")
    text = "".join(part + value for part, value in zip(parts, [*values, ""], strict=True))
    likely = f"(.{{1,{_LONGEST}}}?)".join(_loose(part) for part in parts)
    return Passage(figure.page, text, re.compile(_loose(text)), re.compile(likely, re.DOTALL))


def constants(path: Path = CONSTANTS) -> list[Passage]:
    """Read the passages whose numbers no record holds, by page and kind."""
    pages = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Passage(page, text, re.compile(_loose(text)), kind=kind)
        for page, kinds in pages.items()
        for kind, texts in kinds.items()
        for text in texts
    ]


def _loose(text: str) -> str:
    """Return a pattern in which any run of white space is as good as another, also across a quotation's lines."""
    return "".join(r"\s+(?:>\s+)?" if part.isspace() else re.escape(part) for part in re.split(r"(\s+)", text) if part)


def problems(page: str, text: str, passages: Iterable[Passage]) -> Iterator[str]:
    """Name what is wrong with a page's numbers.

    Parameters
    ----------
    page
        Its name.
    text
        What it says.
    passages
        Of all pages.
    """
    held: list[tuple[int, int]] = []
    for passage in passages:
        if passage.page != page:
            continue
        found = [match.span() for match in passage.pattern.finditer(text)]
        if not found:
            yield _missing(passage, text)
        held += found
    for number in numbers(text):
        if not any(start <= number.start and number.end <= end for start, end in held):
            around = " ".join(text[max(0, number.start - 40) : number.end + 30].split())
            yield (
                f"{page}:{number.line}: “{number.text}” (… {around} …) rests on no record. Bind it in tests/figures/, "
                "name it in tests/figures/constants.toml, or leave it out."
            )


def _missing(passage: Passage, text: str) -> str:
    if passage.likely is None:
        return (
            f"{passage.page} does not say “{passage.text}” any more: mend or remove it in tests/figures/constants.toml."
        )
    says = passage.likely.search(text)
    if says is None:
        return f"{passage.page} does not say “{passage.text}”: mend or remove its binding in tests/figures/."
    line = text.count("\n", 0, says.start()) + 1
    return f"{passage.page}:{line} says “{' '.join(says[0].split())}”; what it rests on says “{passage.text}”."


def unheld(figures: Iterable[Figure]) -> Iterator[str]:
    """Name templates that hold a number of their own, which nothing would compute."""
    for figure in figures:
        if own := numbers(figure.template):
            yield f"{figure.page}: “{figure.template}” holds {', '.join(number.text for number in own)} itself."


def corrected(page: str, text: str, passages: Iterable[Passage]) -> str:
    """Return a page with the computed values in place of wrong ones, where the passage itself is as it was bound."""
    for passage in passages:
        if passage.page == page and passage.likely is not None and passage.pattern.search(text) is None:
            text = passage.likely.sub(lambda _, right=passage.text: right, text, count=1)  # type: ignore[misc]
    return text


def check(page: str, passages: Iterable[Passage]) -> list[str]:
    """Return what is wrong with a page as it is."""
    return list(problems(page, text_of(page), passages))
