"""The site in a real browser: links, filters, comparing two, the phone's width, and silence."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from levelfield.share.site import publish
from tests.browsers import log, open_details, requests, show
from tests.share.shelves import fill

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    publish([fill(folder / "reports")], folder / "site", print)
    return folder / "site"


def shown(browser: webdriver.Chrome) -> int:
    return sum(entry.is_displayed() for entry in browser.find_elements(By.CSS_SELECTOR, "#entries > li"))


def visible(browser: webdriver.Chrome, selector: str) -> list[str]:
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, selector) if each.is_displayed()]


def test_the_index_is_silent_and_asks_for_nothing(browser: webdriver.Chrome, site: Path) -> None:
    show(browser, site / "index.html")
    open_details(browser)
    assert log(browser, "browser") == []
    assert [address for address in requests(browser) if not address.startswith("data:")] == [
        (site / "index.html").as_uri()
    ]


def test_long_titles_and_names_are_not_cut(browser: webdriver.Chrome, site: Path) -> None:
    show(browser, site / "index.html")
    for link, box in ((".headline a", ".headline"), (".machines thead a", ".machines .scroll")):
        assert browser.execute_script(
            "document.querySelector(arguments[0]).textContent = 'networks-'.repeat(40);"
            "const box = document.querySelector(arguments[1]); return box.scrollWidth <= box.clientWidth",
            link,
            box,
        ), box


def test_filters_choose_by_hardware_and_stack(browser: webdriver.Chrome, site: Path) -> None:
    show(browser, site / "index.html")
    assert shown(browser) == 10
    Select(browser.find_element(By.ID, "f-machine")).select_by_visible_text(
        next(
            option.text
            for option in browser.find_elements(By.CSS_SELECTOR, "#f-machine option")
            if option.text.startswith("Another Processor")
        )
    )
    assert shown(browser) == 1
    assert browser.find_element(By.ID, "shown").text == "1 of 10 runs"
    assert "on Another Processor" in visible(browser, ".machines .entry h3")[0]
    assert not visible(browser, "#changed, #two")
    Select(browser.find_element(By.ID, "f-machine")).select_by_index(0)
    browser.find_element(By.ID, "f-text").send_keys("smoke")
    assert shown(browser) == 1
    browser.find_element(By.ID, "f-text").clear()
    browser.find_element(By.ID, "f-text").send_keys("no such thing")
    assert shown(browser) == 0


def test_model_and_backend_choose_columns_and_rows(browser: webdriver.Chrome, site: Path) -> None:
    show(browser, site / "index.html")
    everything = len(visible(browser, ".machines tbody tr"))
    Select(browser.find_element(By.ID, "f-backend")).select_by_visible_text("openvino")
    rows = visible(browser, ".machines tbody tr")
    assert 0 < len(rows) < everything
    assert all(row.startswith(("openvino", "Ranking")) for row in rows)
    Select(browser.find_element(By.ID, "f-model")).select_by_visible_text("MLP")
    assert visible(browser, ".machines tbody td")
    assert shown(browser) == 10


def test_only_runs_that_were_compared_are_offered(browser: webdriver.Chrome, site: Path) -> None:
    show(browser, site / "index.html")
    old, new = (Select(browser.find_element(By.ID, name)) for name in ("c-old", "c-new"))
    assert (old.first_selected_option.text, new.first_selected_option.text) == ("run-06", "run-07")
    links = browser.find_elements(By.CSS_SELECTOR, "#pairs a")
    pairs = {(link.get_attribute("data-old"), link.get_attribute("data-new")) for link in links}
    offered = set()
    for one in [option.text for option in old.options]:
        old.select_by_visible_text(one)
        offered |= {(one, option.text) for option in new.options}
    assert offered == pairs


def test_two_runs_are_compared(browser: webdriver.Chrome, site: Path) -> None:
    show(browser, site / "index.html")
    Select(browser.find_element(By.ID, "c-old")).select_by_visible_text("run-04")
    Select(browser.find_element(By.ID, "c-new")).select_by_visible_text("run-07")
    button = browser.find_element(By.ID, "c-go")
    assert button.is_enabled()
    button.click()
    assert browser.current_url.endswith("compare/run-04--run-07.html")
    assert browser.find_element(By.TAG_NAME, "h1").text


def test_without_scripts_everything_is_there(browser: webdriver.Chrome, site: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, site / "index.html")
        assert shown(browser) == 10
        assert not browser.find_element(By.ID, "filters").is_displayed()
        link = browser.find_element(By.CSS_SELECTOR, "#entries a")
        link.click()
        assert "/runs/" in browser.current_url
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
