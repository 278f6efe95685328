"""What in a page could act on its reader: scripts, handlers, frames, styles, requests and the policy that forbids them.

A page that differs from what this version writes may be of another version, whose words cannot be checked here. What
it may do can be: nothing but the script and the style sheet of a version that is known, under the policy that names
exactly these two.

A browser reads almost anything as markup, so that nothing is guessed: only the strict form in which our pages are
written is read, in one pass, and whatever else begins with `<` is a finding itself.
"""

import hashlib
import html
import re

from levelfield.errors import shortened
from levelfield.report import html as report
from levelfield.report import pages

MAX_BYTES = 8 * 1024 * 1024
"""Most characters of a page that is checked, without its data blocks; standard reports have up to 1 MB."""
EARLIER = (
    # The first version, as of 22 November 2026.
    (
        "9ebe1f21c9fb255c4148491b68430177a370086200283714ca6e54b66937b628",
        "340cdfa445d400f547221e8783a009120a129d2d05013fd1a1dde25ce84470a6",
    ),
    # The reports of 21 and 22 November 2026 that are in this repository.
    (
        "9ebe1f21c9fb255c4148491b68430177a370086200283714ca6e54b66937b628",
        "d8e1dfa674dc519ce019bcdb2f6d78d386b965c81be1facd926ad1ad8d1e89f1",
    ),
    # Before the overview, 26 November 2026.
    (
        "8f92adf11367016f6eaf94dd7042f6132e58ca85c2d1864c9886f6b4199a6f44",
        "493f6de2b36e17991c3604d02ec34e90a6fc06edc334e977652a09a70633f59a",
    ),
    # Before Keras had colours, 25 November 2026.
    (
        "624c402856cab071d093663444c439b0b2c868213e9e158bb90d8b64ca639a27",
        "493f6de2b36e17991c3604d02ec34e90a6fc06edc334e977652a09a70633f59a",
    ),
    # Before one table said what bounds each arm, 26 November 2026.
    (
        "50820b28bcf15e435362d9e7a55cda3dc09ed203dd05279915ef99f177b99246",
        "e8853e2918fc1faf3376768eae8c1591a45d349188857aab3e171681dcf07b59",
    ),
)
"""SHA-256 of the style sheet and of the script of the pages of earlier versions."""
_MOST_NAMED = 20
_DATA_BLOCKS = tuple(f'type="application/json" id="{name}"' for name in ("record", "statement"))
"""Attributes of the blocks of data, whose content was taken out."""
_FORBIDDEN = frozenset(
    {"applet", "audio", "base", "embed", "form", "frame", "frameset", "iframe", "img", "math", "object"}
    | {"picture", "portal", "source", "template", "track", "video", "foreignobject", "use", "image", "animate", "set"}
)
_REFERENCES = frozenset({"href", "src", "srcset", "xlink:href", "action", "formaction", "data", "poster", "ping"})
_ICON = "data:,"


def unknown_content(page: str) -> tuple[str, ...]:
    """Return what a page holds that no known version of Levelfield writes; empty where there is nothing.

    `page`: the page, the content of its data blocks taken out (`share.page.parse_page`).
    """
    if len(page) > MAX_BYTES:
        return (f"{len(page):,} characters beside its record, where no page has more than {MAX_BYTES:,}",)
    reader = _Reader()
    reader.read(page)
    found = [*reader.found]
    styles, scripts = ([_digest(text) for text in texts] for texts in (reader.styles, reader.scripts))
    known = [*EARLIER, (_digest(report.style()), _digest(pages.script()))]
    if not any(styles == [style] and scripts == [script] for style, script in known):
        for what, texts, digests, index in (
            ("a style sheet", reader.styles, styles, 0),
            ("a script", reader.scripts, scripts, 1),
        ):
            published = {each[index] for each in known}
            unknown = [text for text, digest in zip(texts, digests, strict=True) if digest not in published]
            found += [f"{what}: {_start(text)}" for text in unknown]
        found.append(f"{len(scripts)} scripts and {len(styles)} style sheets, not one of each of the same version")
    elif reader.policies != [pages.policy(reader.styles[0], script=reader.scripts[0])]:
        found.append("another Content-Security-Policy than its own: " + (_start("; ".join(reader.policies)) or "none"))
    return tuple(dict.fromkeys(found))[:_MOST_NAMED]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_TAG = re.compile(
    r"""<(?P<close>/?)(?P<name>[a-z][a-z0-9]*+)(?P<attributes>(?:\s++[a-zA-Z][a-zA-Z0-9:_-]*+(?:="[^"<>]*+")?+)*+)\s*+/?+>"""
)
_ATTRIBUTE = re.compile(r"""([a-zA-Z][a-zA-Z0-9:_-]*+)(?:="([^"]*+)")?+""")
_DOCTYPE = "<!doctype html>"
_RAW = frozenset({"script", "style"})
"""Elements whose content is no markup."""


class _Reader:
    """Collects what could act."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.policies: list[str] = []

    def read(self, page: str) -> None:
        """Go through a page once."""
        position = len(_DOCTYPE) if page.startswith(_DOCTYPE) else 0
        while (position := page.find("<", position)) >= 0 and len(self.found) < _MOST_NAMED:
            match = _TAG.match(page, position)
            if match is None:
                self.found.append(f"markup that no version writes: {_start(page[position : position + 100])}")
                position += 1
                continue
            position = match.end()
            if match["close"]:
                continue
            self._opened(match["name"], match["attributes"])
            if match["name"] in _RAW:
                end = page.find(f"</{match['name']}>", position)
                content = page[position:end] if end >= 0 else page[position:]
                self._content(match["name"], content, match["attributes"])
                position = end if end >= 0 else len(page)

    def _opened(self, tag: str, text: str) -> None:
        attributes = [(name.lower(), html.unescape(value)) for name, value in _ATTRIBUTE.findall(text)]
        given = dict(attributes)
        if len(given) != len(attributes):
            self.found.append(f"an attribute of <{tag}> twice")
        if tag in _FORBIDDEN:
            self.found.append(f"an element <{tag}>")
        elif tag == "meta" and "http-equiv" in given:
            if given["http-equiv"] == "Content-Security-Policy":
                self.policies.append(given.get("content", ""))
            else:
                self.found.append(f"an instruction <meta http-equiv={_start(given['http-equiv'])}>")
        elif tag == "link" and given != {"rel": "icon", "href": _ICON}:
            self.found.append(f"a link to {_start(given.get('href', ''))}")
        for name, value in given.items():
            self._attribute(tag, name, value)

    def _content(self, tag: str, content: str, attributes: str) -> None:
        if tag == "style":
            self.styles.append(content)
        elif attributes.strip() not in _DATA_BLOCKS or content:
            self.scripts.append(content)
            if attributes.strip():
                self.found.append(f"a script with attributes: {_start(attributes)}")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name.startswith("on"):
            self.found.append(f"a handler {name}={_start(value)}")
        elif name == "style":
            self.found.append(f"a style of <{tag}>: {_start(value)}")
        elif name in _REFERENCES and not (value.startswith("#") or (tag == "link" and value == _ICON)):
            self.found.append(f"a reference {name}={_start(value)}")


def _start(text: str) -> str:
    return shortened(" ".join(text.split()), 60)
