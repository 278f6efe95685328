"""The one way into Markdown, as GitHub and GitLab read it: whatever a stranger wrote is text, and nothing else."""

import re

from suite.errors import printable

LONGEST = 1000
LONGEST_CODE = 300
"""Characters that are shown."""
_MARKS = re.compile(r"[\\`*_\[\]<>|~&$]|^#")
_LINKS = re.compile(r"(?<=[@#!])(?=\w)|(?<=://)|(?<=www)(?=\.)|(?<=mailto:)|(?<=\bGH-)(?=\d)", re.IGNORECASE)


def text(value: str) -> str:
    """Escape a text: no markup, no HTML, no link, no mention of a person or an issue.

    A word joiner, which nobody sees, parts what would otherwise be linked of itself: mentions are looked for after
    backslashes are gone.
    """
    return _LINKS.sub("\u2060", _MARKS.sub(_escaped, _on_one_line(value, LONGEST)))


def code(value: str) -> str:
    """Set a text as code, out of which no text can break: its ticks become apostrophes."""
    shown = _on_one_line(value, LONGEST_CODE).replace("`", "'").replace("|", "\\|").strip()
    return f"`{shown}`" if shown else "–"


def _on_one_line(value: str, longest: int) -> str:
    shown = printable(" ".join(value.split()))
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _escaped(found: re.Match[str]) -> str:
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", "$": "&#36;"}.get(found[0], f"\\{found[0]}")
