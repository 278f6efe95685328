"""axe-core (https://github.com/dequelabs/axe-core) on what a browser shows; a locked distribution ships it."""

from functools import cache
from importlib import resources

from selenium import webdriver

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
