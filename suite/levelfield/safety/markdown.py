"""Escaping of untrusted text for Markdown, as GitHub and GitLab render it."""

import re

from levelfield.errors import one_line

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
    return _LINKS.sub("\u2060", _MARKS.sub(_escaped, one_line(value, LONGEST)))


def code(value: str) -> str:
    """Format a text as code; its backticks become apostrophes, so that it cannot end the code."""
    shown = one_line(value, LONGEST_CODE).replace("`", "'").replace("|", "\\|").strip()
    return f"`{shown}`" if shown else "–"


def _escaped(found: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", "$": "&#36;"}.get(found[0], f"\\{found[0]}")
