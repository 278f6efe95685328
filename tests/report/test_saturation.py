"""Where a larger batch gains nothing: a table on the page, a sentence a model in the terminal."""

import re

import pytest
from selenium import webdriver

from levelfield.analysis import analyse
from levelfield.analysis.types import ArmSaturation, BatchRate, Estimate, Saturation
from levelfield.record.schema import Case
from levelfield.report import html, insights, units
from tests.browsers import show
from tests.records_builder import make_run


def make(rates: dict[int, float], saturates_at: int | None, allowed: tuple[int, ...]) -> ArmSaturation:
    return ArmSaturation(
        arm="jax",
        backend="jax",
        rates=tuple(BatchRate(batch, Estimate(value, 0.9 * value, 1.1 * value)) for batch, value in rates.items()),
        saturates_at=saturates_at,
        gain=max(rates.values()) / min(rates.values()),
        allowed=allowed,
    )


def plain(text: str) -> str:
    return text.replace(units.NBSP, " ").replace(units.GROUP_SPACE, " ")


@pytest.mark.parametrize(
    ("saturates_at", "allowed", "enough", "besides"),
    [
        (8, (8,), "8", ""),
        (8, (), "8", ""),
        (None, (1000,), "still rising", ""),
        (8, (8, 1000), "8", "or still rising"),
        (None, (8, 1000), "still rising", "or 8"),
        (8, (1, 8), "8", "or 1"),
        (8, (1, 8, 1000), "8", "1 to still rising"),
    ],
)
def test_what_is_not_decided_is_said(
    saturates_at: int | None, allowed: tuple[int, ...], enough: str, besides: str
) -> None:
    arm = make({1: 10.0, 8: 14.0, 1000: 14.5}, saturates_at, allowed)
    assert (plain(insights.enough(arm)), plain(insights.besides(arm))) == (enough, besides)


def test_a_sentence_names_who_gains_and_who_does_not() -> None:
    case = Case("mlp", "throughput", "fp32", 1000, 2, "cuda")
    arms = (make({1: 10.0, 1000: 10.1}, 1, (1,)), make({1: 10.0, 1000: 20.0}, None, (1000,)))
    found = Saturation(case=case, batches=(1, 1000), arms=arms)
    assert plain(insights.sentence(found)) == (
        "MLP, fp32, 2 threads, cuda: batch 1 is enough for jax; still rising at 1 000: jax 2.00×."
    )


def test_every_arm_still_gains_only_where_no_interval_allows_anything_else() -> None:
    case = Case("mlp", "throughput", "fp32", 1000, 2, "cpu")
    gains, open_, enough = (
        make({1: 10.0, 8: 14.0, 1000: 20.0}, at, allowed)
        for at, allowed in ((None, (1000,)), (None, (8, 1000)), (8, ()))
    )
    assert insights.all_rise(Saturation(case, (1, 8, 1000), (gains, gains)))
    assert not insights.all_rise(Saturation(case, (1, 8, 1000), (gains, open_)))
    assert not insights.all_rise(Saturation(case, (1, 8, 1000), (gains, enough)))


def test_the_unit_lies_between_the_least_and_the_most() -> None:
    case = Case("mlp", "throughput", "fp32", 1000, 2, "cpu")
    assert insights.scale(Saturation(case, (1, 1000), (make({1: 4e3, 1000: 2e6}, None, ()),))).unit == "k"
    assert insights.scale(Saturation(case, (1, 8), (make({1: 20.0, 8: 40.0}, None, ()),))).unit == ""


def test_the_page_has_a_row_for_every_arm_and_a_column_for_every_batch() -> None:
    run = make_run(models=("resnet50",), noise_scale=0.0)
    page = html.render(run, analyse(run))
    (found,) = analyse(run).insights.saturation
    caption = page.index("ResNet-50, fp32, 2 threads: items/s by batch</caption>")
    table = plain(page[caption : page.index("</table>", caption)])
    heads = [re.sub("<[^>]+>", "", head).strip() for head in re.findall(r"<th scope=\"col\".*?</th>", table)]
    assert heads == ["Arm", "Enough from batch", "Gain", "Batch 1 95 %", "Batch 8 95 %"]
    rows = re.findall(r"<tr data-arm=.*?</tr>", table, re.DOTALL)
    assert len(rows) == len(found.arms) == 7
    torch = next(row for row in rows if 'data-arm="torch"' in row)
    cells = [" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", torch)]
    assert cells[:3] == ["torch", "still rising", "1.34×"]
    assert [cell.split()[0] for cell in cells[3:]] == ["21.277", "28.470"]
    (openvino,) = [row for row in rows if 'data-arm="openvino"' in row]
    assert openvino.count('class="num enough"') == 1


@pytest.mark.browser
def test_on_a_phone_the_answer_is_seen_without_scrolling(
    browser: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = make_run(models=("resnet50",), rounds=2, max_calls=20)
    file = tmp_path_factory.mktemp("saturation") / "report.html"
    file.write_text(html.render(run, analyse(run)), encoding="utf-8")
    show(browser, file, width=390)
    right = browser.execute_script("""
        const captions = [...document.querySelectorAll('#insights caption')]
        const caption = captions.find(one => /by batch/.test(one.textContent))
        const cells = [...caption.closest('table').tBodies[0].rows].map(row => row.cells[2])
        return Math.max(...cells.map(cell => cell.getBoundingClientRect().right))""")
    assert right <= 390
