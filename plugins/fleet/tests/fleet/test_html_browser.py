"""The page of a fleet in a real browser."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from levelfield_fleet import html
from levelfield_fleet.types import Fleet
from tests.axe import violations
from tests.browsers import VIEWS, log, look, open_details, requests, show
from tests.fleet.samples import fleet, hostile, large

pytestmark = pytest.mark.browser

SLOW = (
    "node-0002, onnxruntime/model-2/memory/fp32/b1/t2/cpu: slow; 12.0 % above its peers (from 9.8 % above to 14.2 % "
    "above); 5 runs; its launches scatter by 1.23 %."
)


def write(verdict: Fleet, folder: Path) -> Path:
    file = folder / "fleet.html"
    file.write_text(html.write(verdict), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(fleet(), tmp_path_factory.mktemp("fleet"))


def test_it_is_silent_and_asks_for_nothing(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    open_details(browser)
    assert log(browser, "browser") == []
    assert [address for address in requests(browser) if not address.startswith("data:")] == [page.as_uri()]


def test_axe_finds_nothing(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    assert violations(browser) == []
    browser.execute_script("document.querySelector('.heat td').focus()")
    for width, scheme in VIEWS:
        look(browser, width=width, scheme=scheme)
        assert violations(browser) == [], (width, scheme)
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), width


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 2200])
def test_no_width_makes_it_scroll_sideways(browser: webdriver.Chrome, page: Path, width: int) -> None:
    show(browser, page, width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_intervals_are_shown_by_the_keyboard(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    told = browser.find_element(By.CLASS_NAME, "told")
    assert "arrow keys" in told.text
    (first,) = browser.find_elements(By.CSS_SELECTOR, ".heat td[tabindex='0']")
    row, column = browser.execute_script(
        "const cell = document.querySelector('.heat td.slow');"
        "return [cell.parentElement.sectionRowIndex, cell.cellIndex - 1]"
    )
    browser.execute_script("arguments[0].focus()", first)
    for key in [Keys.END, Keys.HOME, *[Keys.ARROW_DOWN] * row, *[Keys.ARROW_RIGHT] * column]:
        browser.switch_to.active_element.send_keys(key)
    assert told.text == SLOW
    browser.switch_to.active_element.send_keys(Keys.PAGE_DOWN)
    assert told.text.startswith("node-0007, ")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".heat td[tabindex='0']")) == 1


def test_intervals_are_shown_under_the_pointer(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    cell = browser.find_element(By.CSS_SELECTOR, ".heat td.slow")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    webdriver.ActionChains(browser).move_to_element(cell).perform()
    assert browser.find_element(By.CLASS_NAME, "told").text == SLOW


def test_without_javascript_everything_but_the_intervals_is_there(browser: webdriver.Chrome, page: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, page)
        text = browser.find_element(By.TAG_NAME, "main").text.replace("\u2060", "")
        assert fleet().answer in text
        assert all(part in text for part in ("computes wrongly", "cccccccc", "580.95", "▲", "AMD EPYC"))
        assert not browser.find_element(By.CLASS_NAME, "told").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_stranger_s_texts_are_only_texts(browser: webdriver.Chrome, tmp_path: Path) -> None:
    file = write(hostile(), tmp_path)
    show(browser, file, width=390)
    browser.execute_script("document.querySelector('.heat td').focus()")
    assert browser.execute_script("return window.owned === undefined")
    harmful = "return document.querySelectorAll('img, iframe, object, [onload], [onerror], [onmouseover]').length"
    assert browser.execute_script(harmful) == 0
    assert log(browser, "browser") == []
    assert [address for address in requests(browser) if not address.startswith("data:")] == [file.as_uri()]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_a_thousand_nodes_open(browser: webdriver.Chrome, tmp_path: Path) -> None:
    show(browser, write(large(1000, 30), tmp_path))
    assert len(browser.find_elements(By.CSS_SELECTOR, ".heat td")) == 30_000
