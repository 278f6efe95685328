"""What a stranger's records can do to the verdict on an upgrade: nothing, in no format."""

from functools import cache

import msgspec
import pytest

from levelfield.compare.formats import WRITERS, html
from levelfield.compare.reduction import Reduced
from levelfield.compare.types import Comparison
from levelfield.record import files
from levelfield.upgrade.verdict import Phases, judge
from tests.compare.runs import reduced, run, with_machine
from tests.report.hostile import PAYLOAD
from tests.report.test_html import Page
from tests.upgrade.journals import begun

LONG = "<b>" * 33_000
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x00"
BIDI = "\u202egnp.exe\u2066\u200f\u2028"
HOSTILE = f"{PAYLOAD}{ESCAPES}{BIDI}`|**x**\n\n# x"
SHELL = "performance; touch owned `touch owned` $(touch owned)"


def _boots(phase: str, *, new: bool) -> list[Reduced]:
    """Three boots whose machine says the worst of itself, each side something else, read as records are."""
    side = "new" if new else "old"
    facts: dict[str, dict[str, str]] = {
        f"group {HOSTILE}": {HOSTILE: f"{side}{HOSTILE}", "long": f"{side}{LONG}", f"long {LONG}": side},
        f"group {LONG}": {"long": side},
        "kernel": {
            "release": f"{side}{HOSTILE}",
            "boot parameters": f"quiet {side}{PAYLOAD}={ESCAPES}{BIDI} isolcpus={side}{LONG} {LONG}={side}",
        },
        "gpu": {f"device 0 {HOSTILE} power limit mW": f"{side}{SHELL}", "driver": f"{side}{LONG}"},
        "clock": {"governor": "powersave" if new else SHELL, "boost": f"{side}{SHELL}\n{LONG}"},
        "memory": {"swappiness": "60" if new else SHELL, "transparent huge pages": f"{side}{SHELL}"},
    }
    records = (with_machine(run(f"{phase}-{number}", number, generations=2), **facts) for number in range(3))
    return [reduced(files.decode(msgspec.json.encode(record), "The record")) for record in records]


@cache
def hostile() -> Comparison:
    phases = Phases(_boots("before", new=False), _boots("new", new=True), _boots("after", new=False))
    return judge(begun(boots=3), phases, (f"{HOSTILE}*",))


@pytest.mark.parametrize("name", list(WRITERS))
def test_no_format_passes_anything_on(name: str) -> None:
    found = hostile()
    assert len(found.settings) > 8
    text = WRITERS[name](found)
    assert not set(text) & set("\x1b\x07\x9b\x00\u202e\u2066\u200f\u2028")
    assert LONG not in text or name == "json"
    assert len(text) < (1_000_000 if name == "json" else 200_000)  # programs get the names of facts that changed whole


def test_the_page_shows_the_settings_as_text() -> None:
    page = Page(html.write(hostile()))
    drawn = [
        svg for svg in page.all("svg")[1:] if svg.keys() != {"class", "height", "width"} or svg["class"] != "track"
    ]
    assert not page.all("script") + page.all("img") + drawn + page.all("b")
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
    assert "<script>window.owned=1</script>" in page.text
    assert "{{7*7}}" in page.text
    assert "…" in page.text


def test_settings_are_of_bounded_length() -> None:
    for setting in hostile().settings:
        assert max(len(getattr(setting, name)) for name in setting.__struct_fields__) <= 1000
