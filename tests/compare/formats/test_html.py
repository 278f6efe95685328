"""The comparison as a page."""

import base64
import hashlib
import re

import msgspec

from levelfield.analysis import analyse
from levelfield.analysis.types import Estimate
from levelfield.compare.ab import compare_arms
from levelfield.compare.formats import html
from levelfield.compare.types import Gate, Row
from levelfield.report import html as report
from tests.compare.formats.samples import hostile, upgrade
from tests.records_builder import make_run
from tests.report.test_html import Page


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    for comparison in (upgrade(), hostile()):
        page = Page(html.write(comparison))
        assert not page.all("script") + page.all("img") + page.all("iframe") + page.all("form")
        for tag, attributes in page.elements:
            assert not any(name.startswith("on") or name == "style" for name in attributes), tag
            assert str(attributes.get("href", "#")).startswith(("#", "data:,"))
        (policy,) = (
            meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"
        )
        digest = base64.b64encode(hashlib.sha256(page.data["style"].encode()).digest()).decode()
        assert policy == (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
        )
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        assert {str(link["href"])[1:] for link in page.all("a")} <= set(ids)
        assert "{{7*7}}" in page.text or comparison is upgrade()
        assert all(cell.get("scope") in {"row", "col"} for cell in page.all("th"))


def test_a_run_of_two_arms_begins_with_the_answer_of_their_comparison() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), backends=("jax", "torch"), labels=("ab",))
    compared = compare_arms(run, Gate(), "0" * 64)
    text = report.render(run, analyse(run), comparison=html.within(compared))
    (title,) = re.findall(r"<h1[^>]*>(.*?)</h1>", text)
    assert title.replace("\u2060", "") == html.within(compared).title == "torch is faster than jax in the only case"
    assert text.index("<h1") < text.index('class="answer"') < text.index('class="plot ratios"')
    assert "<code>levelfield reproduce" not in text, "it takes no report of two arms"


def rows(*ratios: float) -> list[Row]:
    found = next(row for row in upgrade().rows if row.ratio is not None)
    return [
        msgspec.structs.replace(found, ratio=Estimate(ratio, ratio * 0.98, ratio * 1.02), outcome="fine")
        for ratio in ratios
    ]


def test_a_row_far_off_stands_at_the_edge_and_the_others_keep_their_room() -> None:
    chart = html.ratio_chart(rows(40.0, *[1.09] * 4, *[1.03] * 4, 0.95, 0.02), 0.02)
    assert chart is not None
    assert [mark.beyond for mark in chart.marks] == ["right", *[""] * 9, "left"]
    assert (chart.marks[0].at, chart.marks[-1].at) == (100, 0)
    assert chart.marks[1].at > 70
    assert chart.cut
