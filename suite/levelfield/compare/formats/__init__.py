"""A comparison written down: for terminals, pull requests, CI systems, programs and browsers. Answer first in each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from levelfield.compare.formats import html, json, junit, markdown, terminal
from levelfield.compare.types import Comparison

WRITERS: Mapping[str, Callable[[Comparison], str]] = MappingProxyType(
    {
        "terminal": terminal.plain,
        "markdown": markdown.write,
        "junit": junit.write,
        "json": json.write,
        "html": html.write,
    }
)
"""Name of a format to what writes it."""

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".txt": "terminal",
        ".md": "markdown",
        ".markdown": "markdown",
        ".xml": "junit",
        ".json": "json",
        ".html": "html",
        ".htm": "html",
    }
)
"""Ending of a file to its format."""
