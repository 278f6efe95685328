"""What a reader can do in the page, in a real browser, with real clicks and keys."""

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from levelfield.analysis import analyse
from levelfield.analysis.types import Estimate, Row, TimedBlock
from levelfield.record.files import encode
from levelfield.record.schema import Failure, Run
from levelfield.report import html, names, units
from tests.browsers import click, log, open_details, requests, show, unfold
from tests.records_builder import make_run, turns_of
from tests.report.hostile import PAYLOAD, make_hostile

pytestmark = pytest.mark.browser

CRASH = Failure(stage="load", kind="crashed", message="It ended with signal 9.", detail="x" * 3000)
RUN = make_run(
    window_seconds=0.15,
    max_calls=5000,
    rounds=3,
    control="onnxruntime",
    failures={("jax", "bert"): CRASH},
    unequal=[("torch", "resnet50")],
    disturbed=[1],
)
ANALYSIS = analyse(RUN)


def write(run: Run, folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text(html.render(run, analyse(run)), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(RUN, tmp_path_factory.mktemp("page"))


def block(model: str, scenario: str) -> TimedBlock:
    return next(each for each in ANALYSIS.timed if (each.case.model, each.case.scenario) == (model, scenario))


def article(browser: webdriver.Chrome, of: TimedBlock) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, f"article[data-case='{of.case.id}']")


def heading(table: WebElement, text: str) -> WebElement:
    return next(cell for cell in table.find_elements(By.CSS_SELECTOR, "thead th") if cell.text.startswith(text))


def arms(table: WebElement) -> list[str]:
    return [row.get_attribute("data-arm") or "" for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")]


def shown(browser: webdriver.Chrome, selector: str) -> list[WebElement]:
    return [each for each in browser.find_elements(By.CSS_SELECTOR, selector) if each.is_displayed()]


def find(browser: webdriver.Chrome, text: str) -> None:
    field = browser.find_element(By.ID, "c-text")
    field.clear()
    field.send_keys(text)


def wait(browser: webdriver.Chrome, condition: Callable[[webdriver.Chrome], object]) -> None:
    WebDriverWait(browser, 20).until(condition)


# ---- sorting ---------------------------------------------------------------------------------------------------------


def test_a_column_sorts_up_and_down_and_back(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    of = block("mlp", "latency")
    table = article(browser, of).find_element(By.TAG_NAME, "table")
    before = arms(table)
    cell = heading(table, "p99")
    rows = sorted((row for row in of.rows if row.p99_ns is not None), key=lambda row: row.p99_ns or 0.0)
    up = [row.arm for row in rows]
    missing = [arm for arm in before if arm not in up]
    for order, expected in (("ascending", up + missing), ("descending", up[::-1] + missing), (None, before)):
        cell.find_element(By.TAG_NAME, "button").click()
        assert cell.get_attribute("aria-sort") == order
        assert arms(table) == expected
    assert up != before


def test_the_keyboard_sorts_and_one_column_at_a_time(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    table = article(browser, block("resnet50", "latency")).find_element(By.TAG_NAME, "table")
    heading(table, "Arm").find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert arms(table) == sorted(arms(table))
    heading(table, "p90").find_element(By.TAG_NAME, "button").send_keys(Keys.SPACE)
    assert len(table.find_elements(By.CSS_SELECTOR, "th[aria-sort]")) == 1


def test_values_with_different_units_sort_by_what_they_are_worth(browser: webdriver.Chrome, page: Path) -> None:
    """MiB and GiB in one column, times from µs to ms, errors as powers of ten."""
    show(browser, page)
    open_details(browser)
    memory = ANALYSIS.memory[0]
    table = browser.find_element(By.CSS_SELECTOR, f".scroll[data-case='{memory.case.id}'] table")
    click(browser, heading(table, "Peak").find_element(By.TAG_NAME, "button"))
    peaks = {row.arm: row.peak_bytes for row in memory.rows}
    written = [units.size(peaks[arm]) for arm in arms(table) if peaks[arm] is not None]
    assert written == [units.size(value) for value in sorted(value for value in peaks.values() if value is not None)]
    parity = browser.find_element(By.CSS_SELECTOR, "#parity table")
    cell = parity.find_elements(By.CSS_SELECTOR, "thead th")[1]
    click(browser, cell.find_element(By.TAG_NAME, "button"))
    texts = [
        row.find_element(By.TAG_NAME, "td").text.split()[0] for row in parity.find_elements(By.CSS_SELECTOR, "tbody tr")
    ]
    superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    values = [float(text.replace("×10", "e").translate(superscripts)) for text in texts if "×" in text]
    assert len(values) > 3
    assert values == sorted(values)


# ---- choosing --------------------------------------------------------------------------------------------------------


def test_a_backend_is_hidden_everywhere_and_comes_back(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    open_details(browser)
    before = len(shown(browser, "[data-arm='openvino']"))
    others = len(shown(browser, "[data-arm='torch']"))
    box = browser.find_element(By.CSS_SELECTOR, "#c-arms input[value='openvino']")
    box.click()
    assert before > 20
    assert shown(browser, "[data-arm='openvino']") == []
    assert len(shown(browser, "[data-arm='torch']")) == others
    assert "without openvino" in browser.find_element(By.ID, "c-shown").text
    browser.find_element(By.ID, "c-reset").click()
    assert len(shown(browser, "[data-arm='openvino']")) == before
    assert browser.find_element(By.ID, "c-shown").text == ""
    box.send_keys(Keys.SPACE)
    assert shown(browser, "[data-arm='openvino']") == []


def test_text_model_and_scenario_choose_cases_and_arms(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    unfold(browser)
    cases = len(shown(browser, "article.block"))
    find(browser, "onnx latency")
    assert {each.get_attribute("data-scenario") for each in shown(browser, "article.block")} == {"latency"}
    found = {each.get_attribute("data-arm") for each in shown(browser, "article.block tbody tr")}
    assert found == {"onnxruntime", "onnxruntime#2"}
    assert len(shown(browser, "#verdict .overview thead th[data-case]")) == 3
    assert not browser.find_element(By.ID, "memory").is_displayed()
    assert shown(browser, ".contents a[href='#memory']") == []
    find(browser, "no such thing")
    assert shown(browser, "article.block") == []
    find(browser, "")
    assert len(shown(browser, "article.block")) == cases
    Select(browser.find_element(By.ID, "c-model")).select_by_visible_text("ResNet-50")
    assert {each.get_attribute("data-model") for each in shown(browser, "[data-case]")} == {"resnet50"}
    Select(browser.find_element(By.ID, "c-scenario")).select_by_visible_text("Throughput")
    (only,) = shown(browser, "article.block")
    assert only.get_attribute("data-case") == block("resnet50", "throughput").case.id
    assert "1 of 12 cases" in browser.find_element(By.ID, "c-shown").text


@pytest.mark.parametrize(("scale", "says"), [("log", True), ("linear", False)])
def test_charts_change_their_scale(browser: webdriver.Chrome, page: Path, scale: str, *, says: bool) -> None:
    show(browser, page)
    unfold(browser)
    places = (
        "return [...document.querySelectorAll('article .plot:not(.bars) .point')]"
        ".map(each => parseFloat(each.getAttribute('cx')))"
    )
    before = browser.execute_script(places)
    select = Select(browser.find_element(By.ID, "c-scale"))
    select.select_by_value(scale)
    labels = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "article .plot:not(.bars) .plot-label")]
    assert len(labels) == len(ANALYSIS.timed)
    assert all(("logarithmic" in label) == says for label in labels)
    for each in ANALYSIS.timed:
        plot = article(browser, each).find_element(By.CLASS_NAME, "plot")
        assert_drawn_true(browser, plot, each, log=says)
    select.select_by_value("")
    assert browser.execute_script(places) == pytest.approx(before, abs=0.05)


def assert_drawn_true(browser: webdriver.Chrome, plot: WebElement, of: TimedBlock, *, log: bool) -> None:
    """Assert that distances on the axis are those of the values: between points, and from ticks to points."""
    drawn = browser.execute_script(
        """return [...arguments[0].querySelectorAll('.plot-row[data-arm]')].filter(row => row.querySelector('.point'))
            .map(row => [row.dataset.arm, parseFloat(row.querySelector('.point').getAttribute('cx'))])""",
        plot,
    )
    values = {row.arm: estimate.value for row in of.rows if (estimate := plotted(row, of)) is not None}
    assert len(drawn) == len(values) > 2
    measure = math.log if log else float
    (first, left), (last, right) = min(drawn, key=lambda pair: pair[1]), max(drawn, key=lambda pair: pair[1])
    for arm, at in drawn:
        share = (measure(values[arm]) - measure(values[first])) / (measure(values[last]) - measure(values[first]))
        assert at == pytest.approx(left + share * (right - left), abs=0.3)
    ticks = browser.execute_script("return arguments[0].querySelectorAll('.plot-axis text').length", plot)
    assert 2 <= ticks <= 12


def plotted(row: Row, of: TimedBlock) -> Estimate | None:
    return row.items_per_second if of.case.per_item else row.call_ns


# ---- looking closer --------------------------------------------------------------------------------------------------


def open_closer_view(browser: webdriver.Chrome, of: TimedBlock) -> WebElement:
    """Open a case's closer view by keyboard, and wait for its picture."""
    closer = article(browser, of).find_element(By.CLASS_NAME, "closer")
    closer.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    wait(browser, lambda _: closer.find_elements(By.CSS_SELECTOR, ".drawn .plot"))
    return closer


def take(browser: webdriver.Chrome, closer: WebElement, name: str) -> None:
    was = closer.find_element(By.CSS_SELECTOR, ".drawn .plot")
    closer.find_element(By.XPATH, f".//label[normalize-space()='{name}']").click()
    wait(browser, lambda _: closer.find_element(By.CSS_SELECTOR, ".drawn .plot") != was)


def test_windows_over_time_are_those_of_the_record(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    of = block("bert", "latency")
    closer = open_closer_view(browser, of)
    written = {units.time(median_of(window)) for window in windows(of, "torch")}
    row = closer.find_elements(By.CSS_SELECTOR, ".strip")[
        arms(article(browser, of).find_element(By.TAG_NAME, "table")).index("torch")
    ]
    titles = browser.execute_script(
        "return [...arguments[0].querySelectorAll('title')].map(each => each.textContent)", row
    )
    on_page = {title.split(": ")[1].split(" (")[0] for title in titles if "warming up" not in title}
    assert on_page == written
    counts = next(each for each in of.rows if each.arm == "torch").counts
    assert len(row.find_elements(By.CSS_SELECTOR, ".disturbed")) == counts.windows_disturbed > 0
    assert len(row.find_elements(By.CSS_SELECTOR, ".point:not(.early):not(.disturbed)")) == counts.windows


def test_a_case_of_another_tool_and_names_with_what_is_not_seen_have_their_windows(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    """Its id has another form, and the page shows another name of an arm than the record holds."""
    plain = make_run(models=("bert",), backends=("jax", "torch"), scenarios=("latency",), rounds=3, max_calls=20)
    case = msgspec.structs.replace(plain.blocks[0].case, precision="unknown")
    run = msgspec.structs.replace(plain, blocks=(msgspec.structs.replace(plain.blocks[0], case=case),))
    run = msgspec.json.decode(encode(run).replace(b'"jax"', '"jax\u200b"'.encode()), type=Run)
    show(browser, write(run, tmp_path))
    (of,) = analyse(run).timed
    strips = open_closer_view(browser, of).find_elements(By.CSS_SELECTOR, ".strip .plot-name")
    assert {each.text for each in strips} >= {"jax\ufffd", "torch"}


def windows(of: TimedBlock, arm: str) -> list[tuple[int, ...]]:
    (found,) = (each for each in RUN.blocks if each.case == of.case)
    return [turn.window.samples_ns for turn in turns_of(found) if turn.arm == arm and turn.window is not None]


def median_of(samples: tuple[int, ...]) -> float:
    ordered = sorted(samples)
    return (ordered[len(ordered) // 2] + ordered[~(len(ordered) // 2)]) / 2


def test_every_call_inside_the_page_is_drawn(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    of = block("bert", "latency")
    closer = open_closer_view(browser, of)
    take(browser, closer, "Every call")
    drawn = browser.execute_script(
        "return [...arguments[0].querySelectorAll('path.calls')]"
        ".reduce((sum, path) => sum + path.getAttribute('d').split('M').length - 1, 0)",
        closer,
    )
    assert drawn == sum(len(window) for row in of.rows for window in windows(of, row.arm))


def texts(within: WebElement, selector: str) -> list[str]:
    """Return texts as they stand in the page, with its kinds of spaces."""
    return [str(each.get_attribute("textContent")) for each in within.find_elements(By.CSS_SELECTOR, selector)]


def test_quantiles_are_those_of_the_table(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    of = block("mlp", "latency")
    closer = open_closer_view(browser, of)
    take(browser, closer, "Quantiles")
    for name in ("p90", "p99"):
        take(browser, closer, name)
        on_page = texts(closer, ".strip .plot-value")
        rows = [row for row in of.rows if row.call_ns is not None]
        assert on_page == [units.time(row.p90_ns if name == "p90" else row.p99_ns) for row in rows]


def test_a_hidden_backend_is_hidden_in_the_closer_view_too(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    unfold(browser)
    closer = open_closer_view(browser, block("bert", "latency"))
    before = len(closer.find_elements(By.CLASS_NAME, "strip"))
    click(browser, browser.find_element(By.CSS_SELECTOR, "#c-arms input[value='torch']"))
    wait(browser, lambda _: len(closer.find_elements(By.CLASS_NAME, "strip")) == before - 1)


# ---- links and files -------------------------------------------------------------------------------------------------


def test_every_command_has_a_button_that_copies_it(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    browser.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    commands = [each for each in browser.find_elements(By.TAG_NAME, "code") if each.text.startswith("levelfield ")]
    assert len(commands) >= 3
    for code in commands:
        click(browser, code.find_element(By.XPATH, "following-sibling::button[1]"))
        wait(browser, lambda _: code.find_elements(By.XPATH, "following-sibling::button[text()='Copied']"))  # noqa: B023
        read = "navigator.clipboard.readText().then(arguments[0])"
        assert browser.execute_async_script(read) == code.get_attribute("textContent")


def test_a_link_to_a_folded_case_opens_it(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    of = block("bert", "throughput")
    assert not article(browser, of).find_element(By.TAG_NAME, "table").is_displayed()
    click(browser, browser.find_element(By.CSS_SELECTOR, f".overview th[data-case='{of.case.id}'] a"))
    wait(browser, lambda _: article(browser, of).find_element(By.TAG_NAME, "table").is_displayed())


def test_a_link_to_what_was_filtered_away_shows_it(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    unfold(browser)
    find(browser, "resnet")
    of = block("bert", "latency")
    assert not article(browser, of).is_displayed()
    browser.execute_script("location.hash = arguments[0]", f"case-{names.anchor(of.case.id)}")
    wait(browser, lambda _: article(browser, of).is_displayed())
    assert browser.find_element(By.ID, "c-text").get_attribute("value") == ""


def test_what_is_inside_can_be_saved(browser: webdriver.Chrome, page: Path, tmp_path: Path) -> None:
    show(browser, page)
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    buttons = {each.text: each for each in browser.find_elements(By.CSS_SELECTOR, "#downloads button")}
    assert list(buttons) == ["Record (JSON)", "Windows (CSV)", "Calls (CSV)"]
    for each in buttons.values():
        each.click()
    files = {name: tmp_path / f"{RUN.id}-{name}" for name in ("record.json", "windows.csv", "calls.csv")}
    wait(browser, lambda _: all(file.is_file() for file in files.values()))
    assert files["record.json"].read_bytes() == encode(RUN)
    kept = json.loads(encode(RUN))
    turns = [
        turn
        for each in kept["blocks"]
        for generation in each["generations"]
        for round_ in generation.get("rounds", ())
        for turn in round_["turns"]
    ]
    with files["windows.csv"].open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == sum("window" in turn and turn["window"] is not None for turn in turns)
    of = block("mlp", "latency")
    on_page = {
        float(row["median_ns"])
        for row in rows
        if (row["arm"], row["model"], row["scenario"]) == ("torch", "mlp", "latency")
    }
    assert on_page == {median_of(window) for window in windows(of, "torch")}
    with files["calls.csv"].open(encoding="utf-8", newline="") as stream:
        calls = list(csv.DictReader(stream))
    assert len(calls) == sum(len(turn["window"]["samples_ns"]) for turn in turns if turn.get("window"))
    assert {address for address in requests(browser) if not address.startswith(("data:", "blob:"))} == {page.as_uri()}


# ---- what stays true -------------------------------------------------------------------------------------------------


def use_everything(browser: webdriver.Chrome, folder: Path) -> None:
    """Press every button, open every view, choose every choice; files are saved in the folder."""
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    open_details(browser)
    wait(
        browser,
        lambda _: browser.execute_script(
            "return [...document.querySelectorAll('.closer .note')].every(each => each.textContent)"
        ),
    )
    for name in ("Every call", "Quantiles"):
        browser.execute_script(
            "document.querySelectorAll(`.closer input[value='${arguments[0]}']`).forEach(each => each.click())", name
        )
        wait(
            browser,
            lambda _: (
                not browser.execute_script(
                    "return [...document.querySelectorAll('.closer .note')].some(each => !each.textContent)"
                )
            ),
        )
    browser.execute_script("document.querySelectorAll('.sort').forEach(each => each.click())")
    browser.execute_script("document.querySelectorAll('#downloads button').forEach(each => each.click())")
    find(browser, "window.owned")
    for name in ("c-model", "c-scenario", "c-scale"):
        select = Select(browser.find_element(By.ID, name))
        for index in range(len(select.options)):
            select.select_by_index(index)
        select.select_by_index(0)
    browser.execute_script("document.querySelectorAll('#c-arms input').forEach(each => each.click())")
    browser.find_element(By.ID, "c-reset").click()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("variants", [False, True])
def test_a_hostile_record_stays_text_whatever_is_used(
    browser: webdriver.Chrome, tmp_path: Path, *, variants: bool
) -> None:
    file = write(make_hostile(variants=variants), tmp_path)
    show(browser, file, width=390)
    saved = tmp_path / "saved"
    saved.mkdir()
    use_everything(browser, saved)
    wait(browser, lambda _: len(list(saved.glob("*.csv")) + list(saved.glob("*.json"))) == 3)
    assert browser.execute_script("return window.owned === undefined")
    assert browser.execute_script("return document.scripts.length") == 2
    harmful = "return document.querySelectorAll('img, iframe, object, [onload], [onerror], [onmouseover]').length"
    assert browser.execute_script(harmful) == 0
    assert log(browser, "browser") == []
    assert {address for address in requests(browser) if not address.startswith(("data:", "blob:"))} == {file.as_uri()}
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    if not variants:  # else launches belong to no arm of their block
        on_page = {
            each.get_attribute("textContent") for each in browser.find_elements(By.CSS_SELECTOR, ".closer .plot-name")
        }
        assert any(PAYLOAD[:40] in str(each) for each in on_page)
    assert {file.name for file in tmp_path.iterdir()} == {"report.html", "saved"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_width_scrolls_sideways_whatever_is_used(
    browser: webdriver.Chrome, page: Path, tmp_path: Path, width: int
) -> None:
    show(browser, page, width=width)
    use_everything(browser, tmp_path)
    assert log(browser, "browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_without_scripts_all_is_readable_and_nothing_pretends_to_work(browser: webdriver.Chrome, page: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, page)
        models = {each.case.model for each in ANALYSIS.timed}
        assert len(shown(browser, "article.block table, article.block .plot")) == 2 * len(models)
        assert len(shown(browser, "article.block > .fold > summary")) == len(ANALYSIS.timed) - len(models)
        assert shown(browser, "button, input, select, #controls, #downloads, .closer") == []
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_print_has_the_page_and_not_its_controls(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert shown(browser, "#controls, #downloads, .closer, .here") == []
        seen = (
            "return [...document.querySelectorAll('article.block table')].filter(each => each.checkVisibility()).length"
        )
        assert browser.execute_script(seen) >= len(ANALYSIS.timed)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
