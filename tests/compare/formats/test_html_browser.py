"""The page of a comparison in a real browser."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from suite.compare.formats import html
from suite.compare.types import Comparison
from tests.browsers import log, open_details, requests, show
from tests.compare.formats.samples import hostile, upgrade

pytestmark = pytest.mark.browser


def write(comparison: Comparison, folder: Path) -> Path:
    file = folder / "comparison.html"
    file.write_text(html.write(comparison), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(upgrade(), tmp_path_factory.mktemp("comparison"))


def test_it_is_silent_and_asks_for_nothing(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    open_details(browser)
    assert log(browser, "browser") == []
    assert [address for address in requests(browser) if not address.startswith("data:")] == [page.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_answer_is_what_one_sees_first(browser: webdriver.Chrome, page: Path, scheme: str) -> None:
    show(browser, page, scheme=scheme)
    heading = browser.find_element(By.TAG_NAME, "h1")
    assert heading.is_displayed()
    assert "slower" in heading.text
    assert heading.rect["y"] + heading.rect["height"] < 900


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 2200])
def test_no_width_makes_it_scroll_sideways(browser: webdriver.Chrome, page: Path, width: int) -> None:
    show(browser, page, width=width)
    open_details(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_what_changed_stands_before_what_did_not(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    open_details(browser)
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "6.2" in text
    assert "failed" in text


def test_a_stranger_s_texts_are_only_texts(browser: webdriver.Chrome, tmp_path: Path) -> None:
    file = write(hostile(), tmp_path)
    show(browser, file, width=390)
    open_details(browser)
    assert browser.execute_script("return window.owned === undefined")
    harmful = "return document.querySelectorAll('img, iframe, object, script:not([type]), [onload], [onerror]').length"
    assert browser.execute_script(harmful) == 0
    assert log(browser, "browser") == []
    assert [address for address in requests(browser) if not address.startswith("data:")] == [file.as_uri()]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
