"""The pages whose figures are checked: the numbers that a reader sees, and which of them are figures by their form."""

import re
from dataclasses import dataclass
from functools import cache

from tests.commands import ROOT

PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Numbers as they are spelled, from zero on."""

_SPELLED = "|".join(
    (*WORDS[1:], "half an?", "a quarter of an", "twenty", "thirty", "forty", "fifty", "sixty", "hundred")
)
_UNITS = "seconds?|minutes?|hours?|days?|times|launches|seeds|steps"
_NUMBER = re.compile(
    # Not inside a name (ResNet-50, float64, cu12), an identifier or a path.
    r"(?<![\w.#@/])(?<![A-Za-z]-)"
    r"\d+(?:[.,]\d+)*(?:[ \u00a0\u202f]\d{3}(?!\d))*(?:e[-−]?\d+)?"
    rf"|\b(?:{_SPELLED})(?=[ -](?:{_UNITS})\b)",
    re.IGNORECASE,
)

FORMS = {
    "version": re.compile(r"\d+(?:\.\d+){2,}"),
    "Python's version": re.compile(r"Python 3\.\d+(?:, 3\.\d+)*(?:\s(?:to|or)\s+3\.\d+)?"),
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "citation": re.compile(r"(?:[A-Z][a-z]+|et al\.) (?:19|20)\d\d\b|arXiv:\d+\.\d+"),
    "place in a list": re.compile(r"^\d+\. ", re.MULTILINE),
    "processor's architecture": re.compile(r"x86-64"),
}
"""Numbers that are no figures, by their form."""


@dataclass(frozen=True)
class Number:
    """One number on a page."""

    start: int
    """Its place among the page's characters."""
    end: int
    text: str
    line: int
    """From one."""


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def visible(text: str) -> str:
    """Return a page of the same length with all that is no prose blanked: code (not its comments), and addresses."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines(keepends=True):
        mark = line.startswith("```")
        fenced ^= mark
        if mark or fenced or line.startswith("    "):
            comment = re.search(r"\s# ", line)
            kept = len(line) if comment is None else comment.start()
            lines.append(_blank(line[:kept]) + line[kept:])
        else:
            lines.append(line)
    prose = re.sub(r"`[^`\n]*(?:\n[^`\n]+)?`", lambda found: _blank(found[0]), "".join(lines))
    return re.sub(r"\]\([^)]*\)|https?://\S+", lambda found: _blank(found[0]), prose)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def numbers(text: str) -> list[Number]:
    """Return the numbers of a page that are not exempt by their form.

    Examples
    --------
    >>> [each.text for each in numbers("ResNet-50 takes 39.2 ms (36.7–41.8) in float32, nine minutes; see `-n 2`.")]
    ['39.2', '36.7', '41.8', 'nine']
    """
    seen = visible(text)
    exempt = [found.span() for form in FORMS.values() for found in form.finditer(seen)]
    return [
        Number(found.start(), found.end(), found[0], text.count("\n", 0, found.start()) + 1)
        for found in _NUMBER.finditer(seen)
        if not any(start <= found.start() and found.end() <= end for start, end in exempt)
    ]


def number_in_words(number: int) -> str:
    """Return a small number as prose spells it.

    Examples
    --------
    >>> number_in_words(9), number_in_words(14)
    ('nine', '14')
    """
    return WORDS[number] if number < len(WORDS) else str(number)
