"""What every page of ours has in common: templates that escape, and a policy that forbids all but our own."""

import base64
import hashlib
from pathlib import Path

import jinja2

from suite.report import names

TEMPLATES = Path(__file__).parent / "templates"


def templates(folder: Path) -> jinja2.Environment:
    """Return the templates of a folder: every text is escaped, and an undefined name is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def style(*further: Path) -> str:
    """Return a page's style sheet: the colours of backends, what all pages have, and what this one has of its own."""
    sheets = (path.read_text(encoding="utf-8") for path in (TEMPLATES / "page.css", *further))
    return "\n".join((names.colour_styles(), *sheets))


def policy(style: str, *, script: str = "", images: str = "data:") -> str:
    """Return a page's Content-Security-Policy: its own style sheet and script, named by their hashes, and no other.

    Parameters
    ----------
    style, script
        The very texts of its elements; empty: it has no script.
    images
        Where pictures may come from.
    """
    scripts = f" script-src 'sha256-{_hash(script)}';" if script else ""
    return (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}';{scripts} img-src {images}; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
