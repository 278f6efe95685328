"""The page of an upgrade with readings of other tools, in a real browser."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from suite.compare.formats import html
from tests.axe import violations
from tests.browsers import open_details, show
from tests.upgrade.test_readings import copies, upgraded

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("upgrade") / "upgrade.html"
    file.write_text(html.write(upgraded(copies(), copies(0.9), copies())), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [320, 1280])
def test_no_width_makes_it_scroll_sideways(browser: webdriver.Chrome, page: Path, width: int) -> None:
    show(browser, page, width=width)
    open_details(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert violations(browser) == []


def test_the_readings_are_found_from_the_contents(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    browser.find_element(By.LINK_TEXT, "Readings").click()
    section = browser.find_element(By.ID, "readings")
    assert section.is_displayed()
    assert "Cost, new/old" in section.text
    assert "326 GB/s" in section.text.replace("\N{NO-BREAK SPACE}", " ")
