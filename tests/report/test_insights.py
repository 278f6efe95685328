"""Insights in words: the numbers are in them, shares above 100 % are explained, and both surfaces say them."""

import re

import msgspec
import pytest
from markupsafe import escape

from levelfield.analysis import analyse
from levelfield.analysis.types import ArmSaturation, BatchRate, Estimate
from levelfield.record.disturbance import Reason
from levelfield.record.schema import Absent, Run
from levelfield.report import html, insights, units
from tests.records_builder import ROOFLINE, make_run
from tests.report.plain import plain


def insights_text(run: Run) -> str:
    found = insights.sections(analyse(run).insights)
    text = "\n".join(
        [
            line
            for section in found
            for line in (section.title, section.lead, *(said for part in section.parts for said in part.listed))
        ]
    )
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


def test_by_a_disturbed_yardstick_nothing_is_said_but_that() -> None:
    probe = msgspec.structs.replace(ROOFLINE, disturbed=(Reason("others", 0.09),))
    run = make_run(models=("bert",), noise_scale=0.0, roofline=(probe,))
    text = insights_text(run)
    assert "Bottlenecks on 2 threads unavailable: the reference measurement was disturbed " in text
    assert "(other processes took 9.0% of the CPU time)." in text
    assert "GFLOP/s</td>" not in html.render(run, analyse(run))


def test_nothing_is_said_without_evidence() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), roofline=Absent("it was not measured"))
    assert insights_text(run) == ""
    assert "Insights" not in html.render(run, analyse(run)).replace("id=", "")


def test_the_page_has_them_with_their_numbers() -> None:
    run = make_run()
    page = plain(html.render(run, analyse(run))).replace("&#8288;", "")
    assert '<a href="#insights">Insights</a>' in page
    found = analyse(run).insights
    for section in insights.sections(found):
        assert section.title in page
        for part in section.parts:
            assert all(plain(escape(sentence)) in page for sentence in part.listed)
            for table in part.tables:
                assert page.count("<tr", page.index(plain(table.title))) > len(table.lines)
    for use in found.resources:
        assert plain(insights.asked(use)) in page
        assert all(plain(insights.others(arm)) in page for arm in use.uses)
    assert "in the cache" in page


def make(rates: dict[int, float], saturates_at: int | None, allowed: tuple[int, ...]) -> ArmSaturation:
    return ArmSaturation(
        arm="jax",
        backend="jax",
        rates=tuple(BatchRate(batch, Estimate(value, 0.9 * value, 1.1 * value)) for batch, value in rates.items()),
        saturates_at=saturates_at,
        gain=max(rates.values()) / min(rates.values()),
        allowed=allowed,
    )


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
