"""axe-core (https://github.com/dequelabs/axe-core) on what a browser shows; a locked distribution ships it."""

from functools import cache
from importlib import resources
from pathlib import Path

from selenium import webdriver

from tests.browsers import log, open_details, requests, show

_RUN = """
    const done = arguments[arguments.length - 1]
    axe.run(document, {resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}).then(
        found => done(found.violations.flatMap(rule => rule.nodes.map(
            node => [rule.id, rule.help, node.target.join(' '), ...node.any.map(each => each.message)].join(': ')))),
        error => done([`axe-core failed: ${error}`]))"""


@cache
def _source() -> str:
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def violations(browser: webdriver.Chrome) -> list[str]:
    """Say what every rule of axe-core, best practices included, finds on the page as it is shown now."""
    if not browser.execute_script("return 'axe' in window"):
        browser.execute_script(_source())
    browser.set_script_timeout(120)
    found: list[str] = browser.execute_async_script(_RUN)
    return found


def check_page(browser: webdriver.Chrome, page: Path) -> None:
    """Check a page in the light on a desk and in the dark on a phone: accessible, silent, no wider than the window."""
    for width, scheme in ((1280, "light"), (390, "dark")):
        show(browser, page, width=width, scheme=scheme)
        open_details(browser)
        assert log(browser, "browser") == []
        assert [address for address in requests(browser) if not address.startswith("data:")] == [page.as_uri()]
        assert violations(browser) == [], (page, width)
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), (page, width)
