"""What every page of ours has in common: templates that escape, and a policy that forbids all but our own."""

import base64
import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from levelfield.errors import UNPRINTABLE, printable, printable_json
from levelfield.report import names

TEMPLATES = Path(__file__).parent / "templates"


def templates(*folders: Path) -> jinja2.Environment:
    """Return the templates of some folders: every text is escaped, and an undefined name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters |= {"moment": moment, "unbroken": _unbroken}
    return environment


_BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%)")


def _printable(value: object) -> object:
    """Return a value as a page shows it: whatever a template writes passes through here."""
    if type(value) is str:  # a figure stays on one line with its sign
        value = _BEFORE_PERCENT.sub("\u00a0", value)
    if not isinstance(value, str) or UNPRINTABLE.search(value) is None:
        return value
    return type(value)(printable(value))


def moment(text: str) -> str:
    """`21 November 2026, 10:15 UTC` for an ISO 8601 moment; other text as it is."""
    try:
        when = datetime.fromisoformat(text)
        when = when.astimezone(UTC) if when.tzinfo is not None else when
    except (ValueError, OverflowError):
        return text
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def _unbroken(text: str) -> Markup:
    """Keep names such as `ResNet-50` and intervals such as `20.9–21.8` on one line: no break after a hyphen or dash."""
    return Markup(re.sub("([-–])", r"\1&#8288;", str(escape(_BEFORE_PERCENT.sub("\u00a0", text)))))  # noqa: S704  (escaped)


def style(*further: Path) -> str:
    """Return a page's style sheet: the colours of backends, what all pages have, and what this one has of its own."""
    sheets = (path.read_text(encoding="utf-8") for path in (TEMPLATES / "page.css", *further))
    return "\n".join((names.colour_styles(), *sheets))


SCRIPT_PARTS = ("elements", "numbers", "sorting", "scales", "choosing", "record", "pictures", "closer", "downloads")
"""In the order in which they use one another."""


def script() -> str:
    """Return the report's own script, which never makes markup out of a string: texts of a record stay text."""
    parts = [(TEMPLATES / "script" / f"{name}.js").read_text(encoding="utf-8").strip() for name in SCRIPT_PARTS]
    return '"use strict";\n(() => {\n' + "\n\n".join(parts) + "\n})();"


def policy(style: str, *, script: str = "", images: str = "data:") -> str:
    """Return a page's Content-Security-Policy: its own style sheet and script, named by their hashes, and no other.

    `style`, `script`: the very texts of its elements; empty: it has no script.
    """
    scripts = f" script-src 'sha256-{_hash(script)}';" if script else ""
    return (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}';{scripts} img-src {images}; base-uri 'none'; "
        "form-action 'none'"
    )


def render(template: jinja2.Template, *, style: str, script: str = "", images: str = "data:", **values: object) -> str:
    """Return a page, with its style sheet, its script and the policy that names both."""
    return template.render(
        style=Markup(style),  # noqa: S704  (our own files)
        script=Markup(script),  # noqa: S704  (our own files)
        policy=policy(style, script=script, images=images),
        **values,
    )


def data_block(content: bytes) -> Markup:
    """Make JSON fit for a script element of type application/json, out of which no text can break."""
    text = printable_json(content.decode())
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704  (all signs with a meaning in HTML are written as JSON escapes)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
