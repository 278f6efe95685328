"""The reference of Python: `levelfield.load`, and the packages that are pure functions of records and arrays."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

FOLDER = "reference/python"
PACKAGES = ("statistics", "record", "analysis", "compare")
"""They measure nothing, so programs may use them on records from anywhere."""

_FOUND_LAST = "---\nsearch:\n  boost: 0.3\n---\n\n"
"""A word of the method is looked for in its description first, and in functions after it."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page as its path and its Markdown, in which mkdocstrings fills in the functions."""
    lines = [
        "# Python",
        "",
        "`levelfield.load` reads a report, with its tables as rows or DataFrames.",
        "",
        "::: levelfield.load",
        "",
        "::: levelfield.loading",
        "",
        "## Packages",
        "",
        "These packages are pure functions of records and arrays. They measure nothing, and need no container engine.",
        "Names may change between minor versions; the record's schema does not lose a field.",
        "",
        "| package | |",
        "|---|---|",
    ]
    for name in PACKAGES:
        package = importlib.import_module(f"levelfield.{name}")
        lines.append(f"| [`levelfield.{name}`]({name}.md) | {_first_line(package.__doc__)} |")
        modules = sorted(each.name for each in pkgutil.walk_packages(package.__path__, f"levelfield.{name}."))
        sections = "\n\n".join(f"::: {each}" for each in modules)
        yield (
            f"{FOLDER}/{name}.md",
            f"{_FOUND_LAST}# `levelfield.{name}`\n\n{inspect.cleandoc(package.__doc__ or '')}\n\n{sections}\n",
        )
    yield f"{FOLDER}/index.md", "\n".join(lines)


def _first_line(docstring: str | None) -> str:
    return inspect.cleandoc(docstring or "").partition("\n")[0]
