"""README, docs and help use the terms of the field: none of the words that only this project used in that sense."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from suite.cli.main import cli
from tests.test_docs import PAGES

INSTEAD = {
    r"tells|told": "shows, states, detects, distinguishes; by default",
    r"gives? back|given back": "returns, releases",
    r"so many": "that many, a number of",
    r"h[eo]ld against|holds? [A-Za-z0-9` ]{1,20} against": "compared with",
    r"what bounds": "what limits",
    r"sittings?": "run, session",
    r"who goes on|goes on where": "resumes, continues",
}
"""Words that a reader has to decode, as regular expressions, and what says the same in the field's terms."""
_PATTERNS = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): better for words, better in INSTEAD.items()}
_QUOTED = re.compile(r"^(?: {4}|```).*$|`[^`\n]*`|\*\*|(?<!\*)\*[^*\n]+\*(?!\*)|[“\"][^”\"\n]*[”\"]", re.MULTILINE)
"""Code, names of the program's own texts, and quotations."""


def found(text: str) -> list[str]:
    """Return what is to be written otherwise: the words, and what to write."""
    plain = _QUOTED.sub("", text)
    return [f"{each.group(0)!r}: {better}" for pattern, better in _PATTERNS.items() for each in pattern.finditer(plain)]


def helps(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    yield path, command.get_help(click.Context(command, info_name=path))
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from helps(each, f"{path} {name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_in_standard_terms(page: Path) -> None:
    assert found(page.read_text(encoding="utf-8")) == []


def test_help_is_in_standard_terms() -> None:
    assert {path: words for path, text in helps(cli, "levelfield") if (words := found(text))} == {}


def test_the_words_are_found_and_quotations_are_not() -> None:
    assert found("The record tells it, and the worker gives back its memory.") == [
        "'tells': shows, states, detects, distinguishes; by default",
        "'gives back': returns, releases",
    ]
    assert found("See *What bounds each case* and `so many names`.") == []
