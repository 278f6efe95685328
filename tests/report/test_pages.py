"""What all pages have in common: texts are escaped, and a policy that lets nothing run but what is our own."""

import re
from functools import cache
from pathlib import Path

import jinja2
import pytest

from levelfield.report import pages
from tests.records_builder import BACKENDS


def test_every_text_is_escaped_and_a_mistyped_name_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p title='{{ name }}'>{{ name }}</p>")
    (tmp_path / "wrong.html").write_text("<p>{{ nmae }}</p>")
    environment = pages.templates(tmp_path)
    made = environment.get_template("page.html").render(name="<b onclick='x'>&")
    assert made == "<p title='&lt;b onclick=&#39;x&#39;&gt;&amp;'>&lt;b onclick=&#39;x&#39;&gt;&amp;</p>"
    with pytest.raises(jinja2.UndefinedError, match="nmae"):
        environment.get_template("wrong.html").render(name="x")


def test_a_page_without_a_script_lets_none_run() -> None:
    assert "script-src" not in pages.policy("h1{}")
    assert pages.policy("h1{}", images="'self'").count("img-src 'self'") == 1


MARKS = (
    *(f"b-{name}" for name in BACKENDS),
    *(f"b-spare-{index}" for index in range(4)),
    *(f"phase-{index}" for index in range(4)),
)


@cache
def colours(scheme: str) -> dict[str, str]:
    blocks = re.findall(r":root \{(.*?)\}", pages.style(), re.DOTALL)[:4]  # of backends and of pages, light and dark
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", "".join(blocks[part::2]))) for part in (0, 1))
    return light if scheme == "light" else light | dark


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", MARKS)
def test_marks_can_be_seen(scheme: str, name: str) -> None:
    assert contrast(colours(scheme)[name], colours(scheme)["card"]) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_two_backends_share_a_colour(scheme: str) -> None:
    marks = [colours(scheme)[name] for name in MARKS if name.startswith("b-")]
    assert len(marks) == len(set(marks))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "card"])
def test_borders_of_what_can_be_pressed_can_be_seen(scheme: str, ground: str) -> None:
    assert contrast(colours(scheme)["edge"], colours(scheme)[ground]) >= 3
