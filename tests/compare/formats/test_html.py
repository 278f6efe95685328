"""The comparison as a page."""

import base64
import hashlib

from suite.compare.formats import html
from tests.compare.formats.samples import hostile, upgrade
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
