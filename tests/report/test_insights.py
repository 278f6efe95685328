"""Insights in words: the numbers are in them, shares above 100 % are explained, and both surfaces say them."""

import io
import re

import msgspec
import pytest
from markupsafe import escape
from rich.console import Console
from selenium import webdriver

from levelfield.analysis import analyse
from levelfield.analysis.types import ArmSaturation, BatchRate, Estimate, Saturation
from levelfield.record.disturbance import Reason
from levelfield.record.schema import Absent, Case, Run
from levelfield.report import html, insights, terminal, units
from tests.browsers import show
from tests.records_builder import ROOFLINE, make_run


def insights_text(run: Run) -> str:
    found = insights.sections(analyse(run).insights)
    text = "\n".join([line for section in found for line in (section.title, section.lead, *section.sentences)])
    return text.replace(units.NBSP, " ").replace(units.GROUP_SPACE, " ")


def test_more_than_a_hundred_percent_is_explained_by_the_evidence() -> None:
    (bert,) = [
        line for line in insights_text(make_run(models=("bert",), noise_scale=0.0)).splitlines() if "no mistake" in line
    ]
    assert "(openvino up to 117 %, " in bert, "the highest of all cases"
    assert "these arms multiply with oneDNN, and NumPy with OpenBLAS" in bert
    assert "the reference measurement's own samples reach up to 318 GFLOP/s" in bert
    assert "Winograd" not in bert, "there are no convolutions in it"
    both = insights_text(make_run(models=("bert", "resnet50"), noise_scale=0.0))
    (line,) = [line for line in both.splitlines() if "no mistake" in line]
    assert "up to 37 % of the arithmetic is in 3×3 convolutions" in line


def test_more_than_the_bandwidth_is_explained() -> None:
    slow = msgspec.structs.replace(ROOFLINE, copy_ns=(900_000_000,), add_ns=(900_000_000,))
    text = insights_text(make_run(models=("resnet50",), noise_scale=0.0, roofline=(slow,)))
    assert "emory-bound, by share of the measured bandwidth: " in text
    (line,) = [line for line in text.splitlines() if "of the bandwidth (" in line]
    assert "never left the caches, or that memory is faster than NumPy's copies" in line


def test_nothing_above_a_ceiling_is_nothing_said() -> None:
    fast = msgspec.structs.replace(ROOFLINE, gemm_ns=(1_000_000,), copy_ns=(1_000,))
    assert "More than 100 %" not in insights_text(make_run(noise_scale=0.0, roofline=(fast,)))


def test_by_a_disturbed_yardstick_nothing_is_said_but_that() -> None:
    probe = msgspec.structs.replace(ROOFLINE, disturbed=(Reason("others", 0.09),))
    run = make_run(models=("bert",), noise_scale=0.0, roofline=(probe,))
    text = insights_text(run)
    assert "Bottlenecks on 2 threads unavailable: the reference measurement was disturbed " in text
    assert "(other processes took 9.0% of the CPU time)." in text
    assert "Compute-bound" not in text
    assert "GFLOP/s</td>" not in html.render(run, analyse(run))


def test_nothing_is_said_without_evidence() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), roofline=Absent("it was not measured"))
    assert insights_text(run) == ""
    assert "Insights" not in html.render(run, analyse(run)).replace("id=", "")


def test_the_page_has_them_with_their_numbers() -> None:
    run = make_run()
    page = html.render(run, analyse(run))
    assert '<a href="#insights">Insights</a>' in page
    found = analyse(run).insights
    for section in insights.sections(found):
        assert section.title in page
        for part in section.shown:
            assert all(escape(sentence) in page.replace("\u2060", "") for sentence in part.listed)
            for table in part.tables:
                assert page.count("<tr", page.index(table.title)) > len(table.lines)
    for use in found.resources:
        assert insights.asked(use) in page
        assert all(insights.others(arm) in page for arm in use.uses)
    assert all(insights.kept_free(each) in page and insights.held_at_most(each) in page for each in found.headroom)
    assert "in the cache" in page


def test_the_terminal_says_the_first_of_each_kind() -> None:
    run = make_run()
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    terminal.show(run, analyse(run), console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    found = insights.sections(analyse(run).insights)
    for section in found:
        assert section.title in text
    assert text.count("• ") == sum(min(len(section.sentences), terminal.INSIGHTS) for section in found)
    assert f"and {len(found[0].sentences) - terminal.INSIGHTS} more in the report" in text


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
