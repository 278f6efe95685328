"""The page in a real browser: silent, self-contained, readable on a phone, in light and dark."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from levelfield.analysis import analyse
from levelfield.record.schema import Failure, Run
from levelfield.report import html
from tests.browsers import log, open_details, requests, show
from tests.records_builder import make_run
from tests.report.hostile import make_hostile

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of the size of a standard run, as a file."""
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.", detail="x" * 3000)
    run = make_run(
        window_seconds=0.15,
        max_calls=5000,
        rounds=3,
        control="onnxruntime",
        failures={("jax", "bert"): crash},
        unequal=[("torch", "resnet50")],
        disturbed=[1],
    )
    return write(run, tmp_path_factory.mktemp("page"))


def write(run: Run, folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text(html.render(run, analyse(run)), encoding="utf-8")
    return file


def test_the_page_is_silent_and_asks_for_nothing(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    open_details(browser)
    assert log(browser, "browser") == []
    asked = [address for address in requests(browser) if not address.startswith("data:")]
    assert asked == [page.as_uri()]


def test_the_verdict_is_what_one_sees_first(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    heading = browser.find_element(By.TAG_NAME, "h1")
    assert heading.is_displayed()
    assert "is fastest on" in heading.text or "are not separated on" in heading.text
    assert heading.rect["y"] + heading.rect["height"] < 900


@pytest.mark.sampled(4)
@pytest.mark.parametrize("width", [320, 390, 768, 1280, 2200])
@pytest.mark.parametrize("opened", [False, True])
def test_no_width_makes_the_page_scroll_sideways(
    browser: webdriver.Chrome, page: Path, width: int, *, opened: bool
) -> None:
    show(browser, page, width=width)
    if opened:
        open_details(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280])
def test_every_chart_draws_its_marks_where_they_can_be_seen(browser: webdriver.Chrome, page: Path, width: int) -> None:
    show(browser, page, width=width)
    outside = browser.execute_script("""
        return [...document.querySelectorAll('.plot .track')].filter(track => {
            const frame = track.closest('.plot').getBoundingClientRect()
            return [...track.querySelectorAll('circle, rect, line, text')].some(mark => {
                const box = mark.getBoundingClientRect()
                return box.left < frame.left - 1 || box.right > frame.right + 1
            })
        }).length""")
    assert outside == 0
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.plot .track')].map(track => track.getBoundingClientRect().width)"
    )
    assert len(widths) > 90
    assert min(widths) > 150


def test_tick_labels_do_not_run_into_one_another(browser: webdriver.Chrome, page: Path) -> None:
    for width in (390, 1280):
        show(browser, page, width=width)
        overlaps = browser.execute_script("""
            return [...document.querySelectorAll('.plot-axis svg')].flatMap(axis => {
                const boxes = [...axis.querySelectorAll('text')].map(text => text.getBoundingClientRect())
                return boxes.slice(1).filter((box, index) => box.left < boxes[index].right + 2)
            }).length""")
        assert overlaps == 0, width


def test_light_and_dark_follow_the_reader(browser: webdriver.Chrome, page: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        show(browser, page, scheme=scheme)
        grounds.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(252, 252, 250)", "rgb(20, 23, 26)"]


def test_a_link_in_the_contents_leads_to_its_section(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    browser.find_element(By.LINK_TEXT, "Parity").click()
    top = browser.execute_script("return document.getElementById('parity').getBoundingClientRect().top")
    assert 0 <= top < 450


def test_the_page_can_be_walked_by_keyboard(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    skip = browser.find_element(By.CLASS_NAME, "skip")
    browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Tab", "code": "Tab"})
    assert browser.switch_to.active_element == skip
    unnamed = browser.execute_script("""
        return [...document.querySelectorAll('a, summary, [tabindex]')]
            .filter(part => !(part.textContent.trim() || part.getAttribute('aria-label'))).length""")
    assert unnamed == 0


def test_it_is_there_within_a_second(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    spent_ms = browser.execute_script(
        "const entry = performance.getEntriesByType('navigation')[0]; return entry.loadEventEnd - entry.startTime"
    )
    assert 0 < spent_ms < 1000


@pytest.mark.parametrize("variants", [False, True])
def test_a_hostile_record_runs_nothing_and_asks_for_nothing(
    browser: webdriver.Chrome, tmp_path: Path, *, variants: bool
) -> None:
    file = write(make_hostile(variants=variants), tmp_path)
    show(browser, file, width=390)
    open_details(browser)
    assert browser.execute_script("return window.owned === undefined")
    assert browser.execute_script("return document.scripts.length") == 2
    assert (
        browser.execute_script("return document.querySelectorAll('img, iframe, object, [onload], [onerror]').length")
        == 0
    )
    assert log(browser, "browser") == []
    assert [address for address in requests(browser) if not address.startswith("data:")] == [file.as_uri()]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    carried = browser.execute_script("return JSON.parse(document.getElementById('record').textContent).format")
    assert carried == "levelfield-record-2"


def test_it_prints(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "paperWidth": 8.27})
    assert len(printed["data"]) > 50_000


def test_print_opens_what_is_folded(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    heights = """
        return [...document.querySelectorAll('details:not(.closer) > :not(summary)')]
            .filter(part => part.checkVisibility()).length"""
    assert browser.execute_script(heights) == 0
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.execute_script(heights) > 30
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_table_that_is_wider_than_the_page_says_so(browser: webdriver.Chrome, page: Path) -> None:
    said = """
        return [...document.querySelectorAll('.scroll')].filter(part => part.checkVisibility()).map(part => [
            part.scrollWidth > part.clientWidth + 1,
            getComputedStyle(part.querySelector('caption'), '::after').content.includes('More columns')])"""
    for width in (390, 2200):
        show(browser, page, width=width)
        browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        found = browser.execute_script(said)
        assert all(wide == told for wide, told in found), (width, found)
        assert any(wide for wide, _ in found) == (width == 390)


def test_a_phone_shows_the_distance_to_the_best_without_scrolling(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page, width=390)
    rights = browser.execute_script("""
        return [...document.querySelectorAll('.block table')].filter(table => table.checkVisibility())
            .flatMap(table => [...table.rows].slice(0, 1).map(row => [...row.cells].slice(0, 3).at(-1)))
            .map(cell => [cell.textContent, cell.getBoundingClientRect().right])""")
    assert len(rights) == 6
    for heading, right in rights:
        assert heading.startswith("Behind the best")
        assert right <= 390
