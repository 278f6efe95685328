"""The verdict on a fleet written down: for terminals, CI systems, programs, browsers and monitoring. Answer first."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from levelfield_fleet.formats import html, json, junit, markdown, openmetrics, terminal
from levelfield_fleet.types import Fleet

WRITERS: Mapping[str, Callable[[Fleet], str]] = MappingProxyType(
    {
        "terminal": terminal.plain,
        "markdown": markdown.write,
        "junit": junit.write,
        "json": json.write,
        "html": html.write,
        "openmetrics": openmetrics.write,
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
        ".prom": "openmetrics",
    }
)
"""Ending of a file to its format."""
