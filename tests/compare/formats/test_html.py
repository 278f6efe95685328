"""The comparison as a page."""

import base64
import hashlib
import re

from levelfield.analysis import analyse
from levelfield.compare.ab.comparison import compare_arms
from levelfield.compare.formats import html
from levelfield.compare.types import Gate
from levelfield.report import html as report
from tests.compare.formats.samples import hostile, upgrade
from tests.records_builder import make_run
from tests.report.test_html import Page


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    for comparison in (upgrade(), hostile()):
        written = html.write(comparison)
        page = Page(written)
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
    assert title.replace("\u2060", "") == compared.answer
    assert text.index("<h1") < text.index('class="plot ratios"') < text.index('id="controls"')
