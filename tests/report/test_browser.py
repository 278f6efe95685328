"""The page in a real browser: silent, self-contained, readable on a phone, in light and dark."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from levelfield.record import files
from tests.browsers import show, unfold
from tests.report.test_page_script import RUN, write

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of the size of a standard run, as a file."""
    return write(RUN, tmp_path_factory.mktemp("page"))


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


def test_the_page_can_be_walked_by_keyboard(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    skip = browser.find_element(By.CLASS_NAME, "skip")
    browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Tab", "code": "Tab"})
    assert browser.switch_to.active_element == skip
    unnamed = browser.execute_script("""
        return [...document.querySelectorAll('a, summary, [tabindex]')]
            .filter(part => !(part.textContent.trim() || part.getAttribute('aria-label'))).length""")
    assert unnamed == 0


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
    unfold(browser)
    rights = browser.execute_script("""
        return [...document.querySelectorAll('.block table')].filter(table => table.checkVisibility())
            .flatMap(table => [...table.rows].slice(0, 1).map(row => [...row.cells].slice(0, 3).at(-1)))
            .map(cell => [cell.textContent, cell.getBoundingClientRect().right])""")
    assert len(rights) == 6
    for heading, right in rights:
        assert heading.startswith("Behind the best")
        assert right <= 390


def test_the_first_screen_of_a_phone_names_the_best_and_the_overview_needs_no_scrolling(
    browser: webdriver.Chrome, page: Path
) -> None:
    show(browser, page, width=390)
    lines = browser.find_elements(By.CSS_SELECTOR, ".answers li")
    assert [line.text.split(":")[0].replace("\u2060", "") for line in lines] == ["MLP", "ResNet-50", "BERT-base"]
    assert max(line.rect["y"] + line.rect["height"] for line in lines) < 844
    outside = browser.execute_script("""
        return [...document.querySelectorAll('.overview td, .overview th')].filter(cell => cell.checkVisibility())
            .filter(cell => cell.getBoundingClientRect().right > 390).length""")
    assert outside == 0
    apart = browser.execute_script("""
        return [...document.querySelectorAll('.overview .arm')].filter(arm =>
            arm.querySelector('.key').getBoundingClientRect().bottom < arm.getBoundingClientRect().top
            || arm.getBoundingClientRect().height > 40).length""")
    assert apart == 0


def test_the_default_run_is_short_and_opens_with_its_picture(browser: webdriver.Chrome, tmp_path: Path) -> None:
    run = files.read(Path(__file__).parents[2] / "reports" / "20261128-111231-standard-8c85")
    show(browser, write(run, tmp_path))
    assert browser.execute_script("return document.documentElement.scrollHeight") <= 9000
    assert browser.find_element(By.CSS_SELECTOR, ".overview tfoot").rect["y"] < 900
