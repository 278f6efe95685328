"""Colours of the page against WCAG 2.2: 4.5:1 for text, 3:1 for marks of charts, light and dark."""

import re
from functools import cache

import pytest

from levelfield.report import pages

TEXT = ("ink", "soft", "accent", "good", "bad", "warn")
MARKS = (
    "b-torch",
    "b-torch-compile",
    "b-tensorflow",
    "b-tensorflow-xla",
    "b-jax",
    "b-onnxruntime",
    "b-openvino",
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


def test_black_on_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("ground", ["paper", "card"])
def test_text_can_be_read(scheme: str, name: str, ground: str) -> None:
    assert contrast(colours(scheme)[name], colours(scheme)[ground]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "ground"), [("bad", "bad-ground"), ("ink", "warn-ground"), ("soft", "warn-ground")])
def test_text_on_coloured_grounds_can_be_read(scheme: str, name: str, ground: str) -> None:
    assert contrast(colours(scheme)[name], colours(scheme)[ground]) >= 4.5


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_chosen_can_be_read(scheme: str) -> None:
    assert contrast(colours(scheme)["paper"], colours(scheme)["accent"]) >= 4.5
