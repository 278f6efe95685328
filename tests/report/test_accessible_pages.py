"""Every kind of page under axe-core: light and dark, wide and on a phone, with all its parts opened."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from levelfield.analysis import analyse
from levelfield.compare.formats import html as comparison_page
from levelfield.record import files
from levelfield.record.schema import Failure, Warning_
from levelfield.report import html
from levelfield.share.site import publish
from tests.axe import violations
from tests.browsers import click, look, open_details, show, unfold
from tests.compare.formats.samples import upgrade
from tests.compare.upgrades import lost_setting
from tests.records_builder import make_run
from tests.share.shelves import fill

pytestmark = pytest.mark.browser

VIEWS = ((1400, "light"), (390, "dark"))
EXAMPLE = Path(__file__).parents[2] / "reports"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of each kind; the report of a real run, and one with all that can go wrong."""
    folder = tmp_path_factory.mktemp("pages")
    run = files.read(EXAMPLE / "20261128-111231-standard-8c85")
    (folder / "example.html").write_text(html.render(run, analyse(run)), encoding="utf-8")
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.", detail="x\n" * 300)
    troubled = make_run(
        rounds=3, control="onnxruntime", launcher="venv", labels=("smoke",),
        warnings=(Warning_(code="w", message="`m` moved", remedy="Hold it.", about="a"),),
        failures={("jax", "bert"): crash}, unequal=[("torch", "resnet50")], disturbed=[1],
    )  # fmt: skip
    within = comparison_page.within(upgrade())
    (folder / "troubled.html").write_text(html.render(troubled, analyse(troubled), comparison=within), encoding="utf-8")
    (folder / "comparison.html").write_text(comparison_page.write(upgrade()), encoding="utf-8")
    (folder / "upgrade.html").write_text(comparison_page.write(lost_setting()), encoding="utf-8")
    publish([fill(folder / "reports")], folder / "site", print)
    site = folder / "site"
    return {
        "example": folder / "example.html", "troubled": folder / "troubled.html",
        "comparison": folder / "comparison.html", "upgrade": folder / "upgrade.html", "site": site / "index.html",
        "site comparison": next((site / "compare").glob("run*.html")),
        "trends": next((site / "trends").glob("*.html")),
    }  # fmt: skip


def test_axe_finds_what_is_wrong(browser: webdriver.Chrome, tmp_path: Path) -> None:
    file = tmp_path / "wrong.html"
    file.write_text("<!doctype html><title>x</title><img src='data:,'><p style='color:#aaa'>Too pale", encoding="utf-8")
    show(browser, file)
    found = {line.partition(":")[0] for line in violations(browser)}
    assert {"html-has-lang", "image-alt", "color-contrast", "landmark-one-main"} <= found


@pytest.mark.parametrize("name", ["example", "troubled", "comparison", "upgrade", "site", "site comparison", "trends"])
def test_axe_finds_nothing(browser: webdriver.Chrome, pages: dict[str, Path], name: str) -> None:
    """Each page is loaded once, and then seen wide and on a phone; nothing is wider than the window."""
    show(browser, pages[name])
    open_details(browser)
    found = {}
    for width, scheme in VIEWS:
        look(browser, width=width, scheme=scheme)
        found[width, scheme] = violations(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), width
    assert found == {seen: [] for seen in found}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
@pytest.mark.parametrize("view", ["Over time", "Every call", "Quantiles"])
def test_axe_finds_nothing_in_what_the_script_draws(
    browser: webdriver.Chrome, pages: dict[str, Path], view: str, scheme: str, width: int
) -> None:
    show(browser, pages["troubled"], width=width, scheme=scheme)
    unfold(browser)
    click(browser, browser.find_element(By.CSS_SELECTOR, "th .sort"))
    click(browser, browser.find_element(By.CSS_SELECTOR, "#c-arms input"))
    closer = browser.find_element(By.CLASS_NAME, "closer")
    click(browser, closer.find_element(By.TAG_NAME, "summary"))
    click(browser, closer.find_element(By.XPATH, f".//label[normalize-space()='{view}']"))
    wait = WebDriverWait(browser, 20)
    wait.until(lambda _: view.split(maxsplit=1)[0] in _names(closer.find_elements(By.CSS_SELECTOR, ".drawn .plot")))
    assert violations(browser) == []


def _names(pictures: list[WebElement]) -> str:
    words = {"Window": "Over", "Every": "Every"}
    labels = [str(each.get_attribute("aria-label")).split()[0] for each in pictures]
    return " ".join(words.get(label, "Quantiles") for label in labels)
