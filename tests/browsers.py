"""A real browser, and what tests ask of it."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webelement import WebElement

BROWSER_EXPECTED = "LEVELFIELD_EXPECT_BROWSER"
VIEWS = tuple((width, scheme) for width in (1400, 768, 390) for scheme in ("light", "dark"))
"""Widths of a window, of a desk, a tablet and a phone, each in both colour schemes."""
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def find(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        if os.environ.get(BROWSER_EXPECTED) == "1":
            pytest.fail(f"{BROWSER_EXPECTED}=1, and there is no {names[0]} here.")
        pytest.skip(f"There is no {names[0]} here.")
    return found


@contextmanager
def opened(profile: Path) -> Iterator[webdriver.Chrome]:
    """Open a browser; where one is expected, its absence is a failure, not a skip."""
    options = Options()
    options.binary_location = find("chromium", "chromium-browser", "google-chrome")
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(find("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def log(browser: webdriver.Chrome, name: str) -> list[dict[str, str]]:
    """Take what the browser logged since the last time."""
    found: list[dict[str, str]] = browser.get_log(name)  # type: ignore[no-untyped-call]
    return found


def show(browser: webdriver.Chrome, file: Path, *, width: int = 1280, scheme: str = "light") -> None:
    """Open a page as a window of this width sees it, with the logs of what came before thrown away."""
    for name in ("browser", "performance"):
        log(browser, name)
    look(browser, width=width, scheme=scheme)
    browser.get(file.as_uri())


def look(browser: webdriver.Chrome, *, width: int, scheme: str) -> None:
    """Give the window another width, and the reader another colour scheme."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )


def open_details(browser: webdriver.Chrome) -> None:
    browser.execute_script("document.querySelectorAll('details').forEach(part => { part.open = true })")


def unfold(browser: webdriver.Chrome) -> None:
    """Open what a reader chooses by, and every case."""
    browser.execute_script("document.querySelectorAll('#controls, .fold').forEach(part => { part.open = true })")


_OWN = "chrome://"
"""Addresses of the browser's own first tab, which it may still be loading; no page may ask for them."""


def requests(browser: webdriver.Chrome) -> list[str]:
    """Addresses that the browser asked for since the page was opened."""
    entries = (json.loads(entry["message"])["message"] for entry in log(browser, "performance"))
    asked = [entry["params"]["request"]["url"] for entry in entries if entry["method"] == "Network.requestWillBeSent"]
    return [address for address in asked if not address.startswith(_OWN)]


def click(browser: webdriver.Chrome, element: WebElement) -> None:
    """Click in the middle of the window: where the page was scrolled to, the contents may lie over what is wanted."""
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()
