"""The page's own script: light interaction on top of what can be read without it.

It is one text, joined from small files, and the page's policy names its hash. It builds elements and sets their text,
and never makes markup out of a string, so that texts of a record stay text.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent / "templates" / "script"
PARTS = ("elements", "numbers", "sorting", "scales", "choosing", "record", "pictures", "closer", "downloads")
"""In the order in which they use one another."""


def script() -> str:
    """Return the script, for a script element of its own at the end of the page."""
    parts = [(_FOLDER / f"{name}.js").read_text(encoding="utf-8").strip() for name in PARTS]
    return '"use strict";\n(() => {\n' + "\n\n".join(parts) + "\n})();"
