"""Escaping of untrusted text for Markdown, as GitHub and GitLab render it."""

import re

from levelfield.errors import printable

LONGEST = 1000
LONGEST_CODE = 300
"""Characters that are shown."""
_MARKS = re.compile(r"[\\`*_\[\]<>|~&$]|^#")
_LINKS = re.compile(r"(?<=[@#!])(?=\w)|(?<=://)|(?<=www)(?=\.)|(?<=mailto:)|(?<=\bGH-)(?=\d)", re.IGNORECASE)


def text(value: str) -> str:
    """Escape a text: no markup, no HTML, no link, no mention of a person or an issue.

    An invisible word joiner splits what would be linked automatically, since mentions are searched after backslashes
    are removed.
    """
    return _LINKS.sub("\u2060", _MARKS.sub(_escaped, _on_one_line(value, LONGEST)))


def code(value: str) -> str:
    """Format a text as code; its backticks become apostrophes, so that it cannot end the code."""
    shown = _on_one_line(value, LONGEST_CODE).replace("`", "'").replace("|", "\\|").strip()
    return f"`{shown}`" if shown else "–"


def _on_one_line(value: str, longest: int) -> str:
    shown = printable(" ".join(value.split()))
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _escaped(found: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", "$": "&#36;"}.get(found[0], f"\\{found[0]}")
